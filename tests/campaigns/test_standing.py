"""What is left to do, found from folders, published results and nothing else."""

import json
import shutil

import pytest
from written import write_run

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.done import Left, left
from recall_rl.campaigns.look import look
from recall_rl.campaigns.plan import Member, Plan
from recall_rl.campaigns.publish import publish
from recall_rl.campaigns.summary import summary
from recall_rl.cli.main import main
from recall_rl.errors import UsageError
from recall_rl.runs.generation import claim
from recall_rl.runs.glance import glance, speed
from recall_rl.runs.status import status

PLAN = Plan("own", (Member("recall"),), ("reach-0,reach-90", "reach-0,reach-180", "reach-90"), (0,), "smoke")
BEGINNING = "shared/recall/reach-0/seed0"
FIRST, SECOND, ALONE = (f"runs/recall/{tasks}/seed0" for tasks in ("reach-0,reach-90", "reach-0,reach-180", "reach-90"))


@pytest.fixture
def campaign(tmp_path):
    return Campaign.create(tmp_path / "campaign", PLAN)


def states(campaign):
    return {s.job.place: s.state for s in campaign.standings()}


def publish_alone(campaign, to, *places):
    """Publish these runs without leaving them in the campaign's folder."""
    for place in places:
        write_run(campaign, place)
    publish(campaign, to)
    for place in places:
        shutil.rmtree(campaign.path / place)


def test_before_anything_ran_beginnings_are_ready_and_others_wait(campaign):
    assert states(campaign) == {BEGINNING: "ready", FIRST: "waiting", SECOND: "waiting", ALONE: "ready"}


def test_published_results_are_done_and_beginnings_that_nobody_needs_too(campaign, tmp_path):
    publish_alone(campaign, tmp_path / "to", FIRST, SECOND)
    again = Campaign.create(campaign.path, PLAN, done=[tmp_path / "to"])
    assert states(again) == {BEGINNING: "done", FIRST: "done", SECOND: "done", ALONE: "ready"}
    # The folder remembers, so that others who look see the same.
    assert states(Campaign.existing(campaign.path)) == states(again)


def test_a_beginning_is_learnt_again_for_a_run_that_is_not_published(campaign, tmp_path):
    publish_alone(campaign, tmp_path / "to", FIRST)
    again = Campaign.create(campaign.path, PLAN, done=[tmp_path / "to"])
    assert states(again) == {BEGINNING: "ready", FIRST: "done", SECOND: "waiting", ALONE: "ready"}


def test_a_wanted_run_that_is_published_is_run_again_if_another_begins_from_it(tmp_path, capsys):
    plan = Plan("own", (Member("recall"),), ("reach-0", "reach-0,reach-90"), (0,), "smoke")
    campaign = Campaign.create(tmp_path / "campaign", plan)
    short, long = "runs/recall/reach-0/seed0", "runs/recall/reach-0,reach-90/seed0"
    publish_alone(campaign, tmp_path / "to", short)
    assert states(Campaign.create(campaign.path, plan, done=[tmp_path / "to"])) == {short: "ready", long: "waiting"}
    assert left(campaign.jobs, [tmp_path / "to"]) == Left(campaign.jobs, again=1)
    own = tmp_path / "own.toml"
    own.write_text(f'methods = ["recall"]\nsequences = {list(plan.sequences)}\nseeds = [0]\nbudget = "smoke"\n')
    assert main(["campaign", "plan", str(own), "--no-measure", "--done", str(tmp_path / "to")]) == 0
    assert "checkpoint is published: 1." in capsys.readouterr().out
    publish_alone(campaign, tmp_path / "to", long)
    assert states(Campaign.create(campaign.path, plan, done=[tmp_path / "to"])) == {short: "done", long: "done"}


def test_what_is_left_beside_published_results_is_known_before_anything_begins(campaign, tmp_path, capsys):
    to = tmp_path / "to"
    publish_alone(campaign, to, FIRST, ALONE)
    assert [job.place for job in left(campaign.jobs, [to]).jobs] == [BEGINNING, SECOND]
    plan = tmp_path / "own.toml"
    plan.write_text(f'methods = ["recall"]\nsequences = {list(PLAN.sequences)}\nseeds = [0]\nbudget = "smoke"\n')
    asked = ["campaign", "plan", str(plan), "--no-measure", "--done", str(to)]
    assert main(asked) == 0
    assert "1 of 3 with budget smoke" in capsys.readouterr().out
    publish_alone(campaign, to, SECOND)
    assert left(campaign.jobs, [to]) == Left([])
    assert main(asked) == 0
    assert capsys.readouterr().out == "All 3 runs are published: nothing is left to run.\n"
    assert main([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["runs"], told["asked"], told["steps"]) == (0, 3, 0)


def test_a_run_that_has_begun_does_not_need_what_it_began_from(campaign):
    write_run(campaign, FIRST, last=None, steps=7000)
    write_run(campaign, SECOND)
    assert states(campaign) == {BEGINNING: "done", FIRST: "ready", SECOND: "done", ALONE: "ready"}


def test_a_complete_journal_without_its_checkpoint_is_no_beginning(campaign):
    write_run(campaign, BEGINNING)
    assert states(campaign)[BEGINNING] == "ready"


@pytest.mark.parametrize("spoil", ["unfinished", "another config", "damaged"])
def test_what_is_not_this_very_result_is_not_counted(campaign, tmp_path, spoil):
    to = tmp_path / "to"
    publish_alone(campaign, to, ALONE)
    config, journal = to / "recall-reach-90-seed0.json", to / "recall-reach-90-seed0.jsonl"
    if spoil == "unfinished":
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    elif spoil == "another config":
        config.write_text(config.read_text().replace('"seed": 0', '"seed": 1'))
    else:
        journal.write_bytes(b"\0" * 100)
    assert states(Campaign.create(campaign.path, PLAN, done=[to]))[ALONE] == "ready"
    with pytest.raises(UsageError, match="nothing at"):
        Campaign.create(campaign.path, PLAN, done=[tmp_path / "nowhere"])


def test_publishing_again_adds_what_is_new_and_replaces_nothing(campaign, tmp_path):
    to = tmp_path / "to"
    write_run(campaign, ALONE)
    write_run(campaign, FIRST, last=None, steps=500)
    write_run(campaign, BEGINNING)
    first = publish(campaign, to)
    assert (first.new, first.there, first.unfinished) == (1, 0, 2)
    assert sorted(p.name for p in to.iterdir()) == ["recall-reach-90-seed0.json", "recall-reach-90-seed0.jsonl"]
    write_run(campaign, SECOND)
    second = publish(campaign, to)
    assert (second.new, second.there, second.unfinished) == (1, 1, 1)
    changed = Plan("own", PLAN.methods, PLAN.sequences, (0,), "smoke", settings={"training.steps": 500})
    other = Campaign.create(tmp_path / "other", changed)
    write_run(other, ALONE)
    with pytest.raises(UsageError, match="another run"):
        publish(other, to)


def test_a_glance_says_what_the_whole_journal_says(campaign):
    path = write_run(campaign, ALONE, last=None, steps=3000, lines=4000)  # Far more than is read at first.
    whole, end = status(path), glance(path)
    assert (end.state, end.step, end.average) == (whole.state, whole.step, whole.average) == ("stopped", 3000, 1.0)
    assert speed(end.journal) == pytest.approx(3000 / 4000 / 2, rel=0.15)
    with open(end.journal, "a") as file:
        file.write('{"event": "trai')  # A line that was not finished.
    assert glance(path) == end
    held = claim(path)
    assert glance(path).state == "running"
    held.release()


def test_looking_side_by_side_sees_the_same(tmp_path):
    plan = Plan("own", PLAN.methods, PLAN.sequences, tuple(range(12)), "smoke")
    campaign = Campaign.create(tmp_path / "campaign", plan)
    for k, job in enumerate(campaign.jobs[::2]):
        write_run(campaign, job.place, last="end" if k % 3 else None, steps=100 * (k + 1), lines=10)
    folders = [campaign.folder(job) for job in campaign.jobs]
    assert len(folders) > 40
    assert look(folders, slow=0.0) == look(folders, slow=1e9)
    assert {seen.state for seen in look(folders)} == {"new", "stopped", "finished"}


def test_a_summary_counts_runs_steps_and_the_time_left(campaign):
    write_run(campaign, ALONE)
    write_run(campaign, BEGINNING, last=None, steps=3000)
    with open(campaign.path / "failures.jsonl", "w") as file:
        for _ in range(3):
            file.write(json.dumps({"run": SECOND, "reason": "bad luck"}) + "\n")
    held = claim(campaign.path / BEGINNING)
    found = summary(campaign.standings())
    held.release()
    assert (found.done, found.running, found.ready, found.waiting, found.set_aside) == (1, 1, 0, 1, 1)
    assert (found.steps, found.whole, found.failed_attempts) == (6000 + 3000, 4 * 6000, 3)
    assert found.seconds_left == pytest.approx((3000 + 6000) / found.steps_per_second)


def time_left(path, plan, finished, running):
    """A summary with one run done in few lines and one at its last step in many, and the speeds of these two."""
    campaign = Campaign.create(path / "campaign", plan)
    write_run(campaign, finished, lines=10)
    write_run(campaign, running, last=None, lines=90)
    held = claim(campaign.path / running)
    found = summary(campaign.standings())
    held.release()
    fast, slow = (speed(campaign.path / place / "g0001/journal.jsonl") for place in (finished, running))
    assert fast > 2 * slow
    return found, fast, slow


def test_the_time_left_goes_by_how_fast_each_method_was(tmp_path):
    plan = Plan("own", (Member("recall"), Member("fine-tuning")), ("reach-0", "reach-90"), (0, 1), "smoke")
    found, fast, slow = time_left(tmp_path, plan, "runs/fine-tuning/reach-0/seed0", "runs/recall/reach-0/seed0")
    assert found.steps_per_second == slow
    # Three runs of either method are left.
    assert found.seconds_left == pytest.approx(3 * 6000 / slow + 3 * 6000 / fast)


def test_the_time_left_goes_by_the_number_of_tasks_too(tmp_path):
    plan = Plan("own", (Member("fine-tuning"),), ("reach-0,reach-90,reach-180", "reach-180"), (0, 1), "smoke")
    long, short = (f"runs/fine-tuning/{tasks}/seed0" for tasks in plan.sequences)
    found, fast, slow = time_left(tmp_path, plan, short, long)
    # One run of either length is left.
    assert found.seconds_left == pytest.approx(3 * 6000 / slow + 6000 / fast)


def test_a_run_that_has_just_begun_counts_as_running_for_the_time_left(tmp_path):
    plan = Plan("own", (Member("recall"),), ("reach-0", "reach-90"), (0, 1), "smoke")
    campaign = Campaign.create(tmp_path / "campaign", plan)
    known, begun = (f"runs/recall/{task}/seed0" for task in plan.sequences)
    write_run(campaign, known, last=None, lines=90)
    write_run(campaign, begun, last=None, steps=100, lines=1)
    both = [claim(campaign.path / place) for place in (known, begun)]
    found = summary(campaign.standings())
    for held in both:
        held.release()
    assert speed(campaign.path / begun / "g0001/journal.jsonl") is None
    assert found.running == 2
    # What is left of the one that has begun, and two runs, by two at a time.
    assert found.seconds_left == pytest.approx((5900 + 2 * 6000) / found.steps_per_second / 2)
