"""What is ready, in which order, and what counts as a failure, without any process."""

from small_campaign import PLAN, write_plan

from recall_rl.campaigns.campaign import ATTEMPTS, Campaign
from recall_rl.campaigns.plan import find_plan
from recall_rl.campaigns.queue import HELD, LOSSES, Queue, ranks
from recall_rl.runs.generation import claim

MANY = (
    PLAN.replace('["recall"]', '["recall", "fine-tuning"]')
    .replace("[0]", "[0, 1]")
    .replace("reach-0,reach-180", "reach-0")
)


def campaign(tmp_path, text=PLAN):
    return Campaign.create(tmp_path / "out", find_plan(str(write_plan(tmp_path / "own.toml", text))))


def all_of(queue):
    taken = []
    while (attempt := queue.take()) is not None:
        taken.append(attempt)
    return taken


def test_longest_chains_come_first_and_of_equal_ones_a_seed_of_all_methods(tmp_path):
    found = campaign(tmp_path, MANY)
    queue = Queue(found, lambda _: None)
    first = all_of(queue)
    # The run of one task is what the run of two extends, so nothing else is ready.
    assert [a.job.config.seed for a in first] == [0, 0, 1, 1]
    assert {a.job.tasks for a in first} == {("reach-0",)}
    assert len({a.job.config.method for a in first[:2]}) == 2
    order = ranks(found.jobs)
    for job in found.jobs:
        if job.parent:
            assert order[job.parent] < order[job.place]
    queue.report(first[0], 0, "")
    (child,) = all_of(queue)
    assert child.job.parent == first[0].job.place


def test_of_a_seed_the_slowest_methods_come_first(tmp_path):
    text = MANY.replace('["recall", "fine-tuning"]', '["fine-tuning", "clonex", "recall", "perfect-memory"]')
    taken = all_of(Queue(campaign(tmp_path, text), lambda _: None))
    of_a_seed = ["perfect-memory", "recall", "clonex", "fine-tuning"]
    assert [a.job.config.method for a in taken] == [*of_a_seed, *of_a_seed]


def test_a_seed_is_ended_before_the_next_begins_though_its_runs_share_their_beginning(tmp_path):
    queue = Queue(campaign(tmp_path, PLAN.replace("[0]", "[1, 0]")), lambda _: None)
    seen = []
    while (attempt := queue.take()) is not None:
        seen.append((attempt.job.config.seed, len(attempt.job.tasks)))
        queue.report(attempt, 0, "")
    assert seen == [(0, 1), (0, 2), (0, 2), (1, 1), (1, 2), (1, 2)]


def test_a_failure_counts_and_after_three_a_run_and_what_extends_it_are_set_aside(tmp_path):
    found = campaign(tmp_path)
    said = []
    queue = Queue(found, said.append)
    for _ in range(ATTEMPTS):
        attempt = queue.take()
        assert not queue.over
        queue.report(attempt, 1, "on fire")
    assert queue.take() is None
    assert queue.over
    assert said[-1].endswith("on fire; set aside")
    assert {s.state for s in found.standings()} == {"set aside"}


def test_lost_machines_do_not_count_until_they_are_lost_many_times(tmp_path):
    found = campaign(tmp_path)
    queue = Queue(found, lambda _: None)
    for k in range(LOSSES):
        attempt = queue.take()
        assert attempt.take_over == (k > 0)
        queue.lose(attempt, "its machine was lost", machine=True)
        assert queue.failed[attempt.job.place] == (k == LOSSES - 1)
    assert queue.take() is not None


def test_a_run_that_another_process_holds_is_left_alone_until_that_gives_no_sign_of_life(tmp_path):
    found = campaign(tmp_path)
    beginning = found.folder(found.jobs[0])
    beginning.mkdir(parents=True)
    (beginning / "config.json").write_text(found.jobs[0].config.to_json())
    holder = claim(beginning)
    queue = Queue(found, lambda _: None, quiet=0.0)
    assert queue.take() is None
    assert queue.waiting
    assert not queue.over
    queue._looked -= 10
    queue.look()  # Its sign of life is new to us.
    assert queue.take() is None
    queue._looked -= 10
    queue.look()
    attempt = queue.take()
    assert attempt.take_over
    queue.report(attempt, HELD, "")
    assert list(queue.held) == [attempt.job.place]
    holder.release()
    queue._looked -= 10
    queue.look()
    assert not queue.take().take_over
