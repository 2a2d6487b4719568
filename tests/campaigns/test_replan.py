"""The plan of a campaign that has begun is changed: nothing that both plans ask for is learnt again."""

import shutil

import pytest
from small_campaign import PLAN, results, write_plan

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.done import read_done
from recall_rl.campaigns.plan import find_plan
from recall_rl.campaigns.publish import publish
from recall_rl.campaigns.replan import Replanned, replan
from recall_rl.campaigns.stop import heeding
from recall_rl.errors import UsageError
from recall_rl.runs.generation import claim

BOTH = '["reach-0,reach-90", "reach-0,reach-180"]'
BEGINNING = "recall/reach-0/seed0"


@pytest.fixture
def begun(shared, tmp_path):
    """The small campaign, done, in a folder of one's own."""
    return shutil.copytree(shared, tmp_path / "out", symlinks=True)


def changed(folder, sequences, **settings):
    return write_plan(folder / "changed.toml", PLAN.replace(BOTH, sequences), **settings)


def test_what_both_plans_ask_for_is_kept_and_what_is_new_is_run(recall, plan, begun, tmp_path):
    before = results(begun)
    shorter = changed(tmp_path, '["reach-0", "reach-0,reach-90"]')
    assert "--replan" in recall("campaign", "run", shorter, "--out", begun, code=2)

    # A beginning that was shared is now asked for, and the other way round.
    said = recall("campaign", "run", shorter, "--out", begun, "--replan")
    assert "1 kept, 1 new, 1 no longer asked for" in said
    assert "started" not in said
    assert results(begun).items() > before.items()  # What is no longer asked for is still there.
    assert "2 of 2 runs done" in recall("campaign", "run", shorter, "--out", begun)
    said = recall("campaign", "run", plan, "--out", begun, "--replan")
    assert "started" not in said
    assert results(begun) == before
    assert (begun / "shared" / BEGINNING).is_dir()

    more = changed(tmp_path, '["reach-0,reach-90", "reach-0,reach-180", "reach-90"]')
    said = recall("campaign", "run", more, "--out", begun, "--replan")
    assert "2 kept, 1 new, 0 no longer asked for" in said
    assert "3 of 3 runs done" in said
    assert results(begun).items() > before.items()


def test_a_plan_that_cannot_be_taken_changes_nothing(plan, begun, tmp_path):
    content = (begun / "campaign.json").read_bytes()
    # Here the beginning would move, were the run after it not in the way.
    other = find_plan(str(changed(tmp_path, '["reach-0", "reach-0,reach-90"]', **{"training.steps": 700})))
    with pytest.raises(UsageError, match="other settings"):
        replan(begun, other)
    wanted = find_plan(str(changed(tmp_path, '["reach-0,reach-90"]')))
    with heeding(begun), pytest.raises(UsageError, match="recall campaign stop"):
        replan(begun, wanted)
    assert (begun / "campaign.json").read_bytes() == content
    assert (begun / "shared" / BEGINNING).is_dir()
    assert replan(begun, find_plan(str(plan))) is None  # It is the plan that is there.
    assert replan(tmp_path / "new", wanted) is None


def test_a_run_that_outlives_its_campaign_is_waited_for(plan, tmp_path):
    """Nobody is there whom `recall campaign stop` could ask."""
    out = tmp_path / "out"
    folder = Campaign.create(out, find_plan(str(plan))).path / "shared" / BEGINNING
    folder.mkdir(parents=True)
    wanted = find_plan(str(changed(tmp_path, '["reach-0,reach-90"]')))
    left = claim(folder)
    with pytest.raises(UsageError, match=f"{BEGINNING} is still running.* wait"):
        replan(out, wanted)
    left.release()
    assert replan(out, wanted) == Replanned(kept=1, new=0, dropped=1)


def test_published_results_count_for_the_new_plan_if_it_asks_for_them(plan, shared, tmp_path):
    published, out = tmp_path / "published", tmp_path / "out"
    publish(Campaign.existing(shared), published)
    Campaign.create(out, find_plan(str(plan)), done=[published])
    assert len(read_done(out)) == 2
    one = '["reach-0,reach-90", "reach-90"]'
    assert replan(out, find_plan(str(changed(tmp_path, one)))) == Replanned(kept=1, new=1, dropped=1)
    assert list(read_done(out)) == ["runs/recall/reach-0,reach-90/seed0"]
    assert replan(out, find_plan(str(changed(tmp_path, one, **{"training.steps": 700})))) == Replanned(0, 2, 2)
    assert read_done(out) == {}
