from made_up import write

from recall_rl.analysis.read import read
from recall_rl.analysis.summary import references, summarise
from recall_rl.tasks.own import OwnTask


def test_tasks_of_one_name_that_are_not_the_same_never_meet(tmp_path):
    small, large = ({"run": OwnTask("A-v0", "run", reward_scale=scale)} for scale in (1.0, 10.0))
    alone = [[0.0], [0.5], [0.5], [1.0]]
    for seed, own in enumerate((small, small, large)):
        write(tmp_path, f"r{seed}", "recall", "reach-0,run", seed=seed, own=own)
    write(tmp_path, "alone", "fine-tuning", "run", success=alone, own=small)
    write(tmp_path, "first", "fine-tuning", "reach-0", success=alone)
    found = read([tmp_path]).results
    assert all(result.tasks[-1] in ("run", "reach-0") for result in found), "tasks keep their short names"
    rows = [row for row in summarise(found, references(found)) if row.method == "recall"]
    assert sorted(row.seeds for row in rows) == [(0, 1), (2,)], "seeds of different tasks are not averaged"
    assert all(row.sequence.startswith("reach-0,run [") for row in rows)
    measured = {row.seeds: "forward_transfer" in row.measures for row in rows}
    assert measured == {(0, 1): True, (2,): False}, "a reference is one of the same task"
