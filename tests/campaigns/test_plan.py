import dataclasses

import pytest

from recall_rl.campaigns.campaign import Campaign
from recall_rl.campaigns.jobs import jobs, size
from recall_rl.campaigns.plan import PLANS, Member, Plan, find_plan
from recall_rl.errors import UsageError
from recall_rl.tasks.sequences import task_names
from recall_rl.training.config import BUDGETS

PROBES = Plan("own", (Member("recall"),), ("reach-0,reach-90", "reach-0,reach-180", "reach-90"), (0, 1), "smoke")


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_of_the_paper_can_be_made(name):
    found = jobs(dataclasses.replace(PLANS[name], seeds=(0,)))
    wanted = [job for job in found if job.wanted]
    assert len(wanted) == len(PLANS[name].methods) * len(PLANS[name].sequences)
    assert len({job.place for job in found}) == len(found)
    assert len({job.config.identity() for job in found}) == len(found)
    places = {job.place: job for job in found}
    for job in found:
        if job.parent:
            parent = places[job.parent]
            assert job.tasks[: job.before] == parent.tasks
            assert found.index(parent) < found.index(job)


@pytest.mark.parametrize("budget", ["smoke", "laptop", "paper"])
def test_every_plan_takes_any_budget_and_seed(budget):
    assert set(PLANS) == {
        *("pairs", "cw3", "cw6", "cw10", "cw20", "ablation", "lambda", "sharing", "offline-online", "references")
    }
    for name in PLANS:
        found = jobs(find_plan(name, seeds=[7, 11], budget=budget))
        assert {job.config.seed for job in found} == {7, 11}
        assert {job.config.budget.removesuffix("+changed") for job in found} == {budget}
        steps = {job.config.training.steps for job in found}
        assert steps == {BUDGETS[budget].training.steps}


def test_pairs_share_their_first_tasks():
    whole = size(jobs(PLANS["pairs"]))
    assert (whole.runs, whole.shared) == (1000, 100)
    assert whole.saved == pytest.approx(0.45)


def test_only_beginnings_that_two_runs_have_are_shared():
    found = [job for job in jobs(PROBES) if job.config.seed == 0]
    assert {(job.place, job.parent, job.before) for job in found} == {
        ("shared/recall/reach-0/seed0", None, 0),
        ("runs/recall/reach-90/seed0", None, 0),
        ("runs/recall/reach-0,reach-90/seed0", "shared/recall/reach-0/seed0", 1),
        ("runs/recall/reach-0,reach-180/seed0", "shared/recall/reach-0/seed0", 1),
    }
    apart = jobs(PROBES, share=False)
    assert len(apart) == 6
    assert all(job.parent is None for job in apart)
    assert {j.config.identity() for j in apart} == {j.config.identity() for j in jobs(PROBES) if j.wanted}


def test_a_run_that_is_wanted_itself_is_the_beginning_of_longer_ones():
    plan = Plan("own", (Member("ewc"),), ("cw3-1", "cw6-1"), (0,))
    first, second = jobs(plan)
    assert (first.tasks, first.wanted) == (task_names("cw3-1"), True)
    assert (second.parent, second.before) == (first.place, 3)
    assert size([first, second]).saved == pytest.approx(1 / 3)


def test_methods_that_look_ahead_share_nothing():
    plan = Plan("own", (Member("packnet"), Member("mtl")), PROBES.sequences, (0,), "smoke")
    assert all(job.parent is None and job.wanted for job in jobs(plan))


def test_a_plan_of_ones_own_is_a_small_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'methods = ["recall", {method = "recall", settings = {"options.lam" = 10.0}}]\n'
        'sequences = ["reach-0,reach-90"]\nseeds = [0, 3]\nbudget = "smoke"\n[settings]\n"training.steps" = 1000\n'
    )
    plan = find_plan(str(path), settings=["agent.batch=32"])
    found = jobs(plan)
    plain, other = {job.name.split("/")[0] for job in found[:2]}, {job.name.split("/")[0] for job in found[2:]}
    assert plain == {"recall"}
    assert all(name.startswith("recall_lam=10.0_") for name in other)
    assert {(j.config.training.steps, j.config.agent.batch) for j in found} == {(1000, 32)}
    assert find_plan("cw10", seeds=[7], budget="paper").seeds == (7,)


OWN = """
methods = [
  "ewc",
  {method = "recall", seeds = [0]},
  {method = "recall", sequences = ["reach-0,reach-180"], seeds = [0, 1]},
]
sequences = ["reach-0,reach-90"]
seeds = [0, 1, 2]
budget = "smoke"
"""


def test_a_method_may_have_sequences_and_seeds_of_its_own_and_be_there_twice(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    plan = find_plan(str(path))
    assert {(job.place, job.parent) for job in jobs(plan)} == {
        *((f"runs/ewc/reach-0,reach-90/seed{seed}", None) for seed in (0, 1, 2)),
        ("shared/recall/reach-0/seed0", None),
        ("runs/recall/reach-0,reach-90/seed0", "shared/recall/reach-0/seed0"),
        ("runs/recall/reach-0,reach-180/seed0", "shared/recall/reach-0/seed0"),
        ("runs/recall/reach-0,reach-180/seed1", None),
    }
    as_listed = Campaign.create(tmp_path / "folder", plan).jobs
    assert Campaign.existing(tmp_path / "folder").jobs == as_listed
    chosen = jobs(find_plan(str(path), seeds=[2]))
    assert {job.config.seed for job in chosen} == {2}
    assert sum(job.wanted for job in chosen) == 3


def test_sequences_of_the_plan_are_not_asked_for_if_every_method_has_its_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('methods = [{method = "recall", sequences = ["reach-0"]}]\nseeds = [0]\nbudget = "smoke"')
    assert [job.tasks for job in jobs(find_plan(str(path)))] == [("reach-0",)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "needs methods"),
        ('methods = ["recall"]', "sequences of the plan mine must be at least one"),
        ('methods = [{method = "recall", seeds = []}]\nsequences = ["cw10"]', "seeds of recall .* at least one"),
        ('methods = [{method = "recall", set = 3}]\nsequences = ["cw10"]', "'set'.*settings"),
        ('methods = [{method = "recall", seeds = [1]}, "recall"]\nsequences = ["reach-0"]', "seed1 twice"),
        ("methods = 3", "needs methods"),
        ('methods = ["recall"]\nsequences = []', "at least one"),
        ('methods = ["recall"]\nsequences = ["cw10"]\nseeds = [1, 1]', "each once"),
        ('methods = ["recall"]\nsequences = ["cw10"]\nbudgets = "laptop"', "Did you mean 'budget'"),
        ('methods = ["recall"]\nsequences = ["cw10"]\nseeds = "all"', "wrong field"),
        ("methods = [", "not valid TOML"),
    ],
)
def test_a_wrong_plan_is_refused_with_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        jobs(find_plan(str(path)))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"methods": (Member("recal"),)}, "recall"),
        ({"sequences": ("cw33",)}, "cw3"),
        ({"sequences": ("reach-0,hammer",)}, "protocol"),
        ({"budget": "huge"}, "budget"),
        ({"settings": {"training.stepz": 5}}, "training.steps"),
        ({"sequences": ("cw3-1", "push,window-close,hammer")}, "same tasks"),
        ({"methods": (Member("recall"), Member("recall"))}, "twice"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_before_it_starts(changes, sentence):
    with pytest.raises(UsageError, match=sentence):
        jobs(dataclasses.replace(PROBES, **changes))
    with pytest.raises(UsageError, match="pairs"):
        find_plan("pears")
