"""A run whose process is frozen is taken over; when it wakes up, nothing that it writes counts."""

import os
import signal

from small_campaign import results
from waiting import until

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.local import Local
from recall_rl.campaigns.plan import find_plan
from recall_rl.campaigns.process import RunProcess
from recall_rl.runs.directory import RunDirectory


def test_a_frozen_process_that_wakes_up_changes_nothing(recall, plan, shared, tmp_path, monkeypatch):
    for name, value in recall.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    campaign = Campaign.create(tmp_path / "out", find_plan(str(plan)))
    first = campaign.jobs[0]
    frozen = RunProcess(campaign.path, first.place)
    until(lambda: (campaign.folder(first) / "journal.jsonl").exists())
    os.kill(frozen.pid, signal.SIGSTOP)
    try:
        said = []
        Local(campaign, 2, said.append, quiet=3.0).go()
        assert any("no sign of life" in line for line in said)
        before = results(campaign.path)
        assert before == results(shared)
    finally:
        os.kill(frozen.pid, signal.SIGCONT)
    # It goes on to the end of what it believes to be its run.
    assert frozen.wait() in (0, 1)
    assert results(campaign.path) == before
    assert {s.state for s in campaign.standings()} == {"done"}
    assert RunDirectory(campaign.folder(first)).generation().number == 2
