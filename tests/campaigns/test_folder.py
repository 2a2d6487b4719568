"""Real campaigns that are published, cleaned, gone on with and stopped."""

import signal

import pytest
from processes import SMALL
from waiting import until

from recall_rl.analysis.read import read
from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.plan import find_plan
from recall_rl.campaigns.stop import drivers
from recall_rl.campaigns.work import work
from recall_rl.cli.main import main
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.glance import glance

PLAN = """
methods = ["recall"]
sequences = ["reach-0", "reach-0,reach-90"]
seeds = [0]
budget = "smoke"
[settings]
"""
SHORT, LONG = "runs/recall/reach-0/seed0", "runs/recall/reach-0,reach-90/seed0"


def write_plan(folder, **more):
    path = folder / "own.toml"
    path.write_text(PLAN + "".join(f'"{k}" = {v}\n' for k, v in {**SMALL, **more}.items()))
    return path


@pytest.fixture
def say(capsys):
    """What a command printed, once it has ended with this code."""

    def call(*words, code=0):
        assert main([str(word) for word in words]) == code
        out, err = capsys.readouterr()
        return out + err

    return call


def results(out):
    return {
        place: (RunDirectory(out / place).journal(), RunDirectory(out / place).weights.read_bytes())
        for place in (SHORT, LONG)
    }


def run_all(campaign):
    """Do, in this process, what the processes of a campaign do."""
    for job in campaign.jobs:
        work(campaign, job.place)


def heavy(out):
    """Files of rows and checkpoints."""
    return [*out.glob("*/*/*/*/g*/memory/*"), *out.glob("*/*/*/*/g*/checkpoint-*")]


def test_a_campaign_is_published_cleaned_and_learnt_again_where_it_is_needed(say, tmp_path):
    plan, out, to = write_plan(tmp_path), tmp_path / "out", tmp_path / "published"
    campaign = Campaign.create(out, find_plan(str(plan)))
    run_all(campaign)
    assert "2 of 2 runs done" in say("campaign", "run", plan, "--out", out, "--keep")
    before, kept = results(out), heavy(out)
    assert kept

    assert "2 runs published" in say("campaign", "publish", out, to)
    assert "0 runs published" in say("campaign", "publish", out, to)
    assert {r.finished for r in read([to]).results} == {True}
    assert {r.identity for r in read([to]).results} == {r.identity for r in read([out / "runs"]).results}

    would = say("campaign", "clean", out, "--dry-run")
    assert "of 2 runs would be freed" in would
    assert heavy(out) == kept
    assert say("campaign", "clean", out) == would.replace("would be freed", "freed")
    assert heavy(out) == []
    assert "0.0 MB of 0 runs" in say("campaign", "clean", out)
    assert results(out) == before
    assert list(out.glob(f"{LONG}/g*/policies/after-2.safetensors"))
    assert "2 done, 0 running" in say("campaign", "status", out)
    assert "its results are there" in say("resume", out / SHORT)
    assert "were removed" in say("extend", out / SHORT, "--sequence", "reach-180", "--out", tmp_path / "x", code=2)

    # The longer run is lost: the shorter is learnt again, only to begin from, and the same bytes come out.
    (out / LONG).rename(tmp_path / "lost")
    assert [s.state for s in campaign.standings()] == ["ready", "waiting"]
    run_all(campaign)
    assert results(out) == before
    again = heavy(out)
    assert again
    run_all(campaign)  # As a lost message would make them: nothing is learnt twice.
    assert heavy(out) == again
    assert "2 of 2 runs done" in say("campaign", "run", plan, "--out", out)
    run_all(campaign)
    assert heavy(out) == []  # As a campaign leaves it that was not asked to keep them.

    elsewhere = tmp_path / "elsewhere"
    said = say("campaign", "run", plan, "--out", elsewhere, "--done", to)
    assert "started" not in said
    assert "2 of 2 runs done" in said


def test_a_campaign_stops_when_its_folder_asks_for_it(recall, say, tmp_path):
    plan, out = write_plan(tmp_path, **{"training.steps": 200_000}), tmp_path / "out"
    assert "no campaign" in say("campaign", "stop", out, code=2)
    process = recall.start("campaign", "run", plan, "--out", out)
    until(lambda: list(out.glob(f"{SHORT}/g*/start.json")))
    assert len(drivers(out)) == 1
    assert "has stopped" in say("campaign", "stop", out)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped" in err
    assert glance(out / SHORT).state == "stopped"  # Nobody holds it any more.
    assert "No process carries" in say("campaign", "stop", out)
