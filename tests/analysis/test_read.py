import json
import sys
from pathlib import Path

import numpy as np
import pytest

import recall_rl
from recall_rl.analysis.read import read
from recall_rl.analysis.summary import compare, family, overall, references, summarise
from recall_rl.errors import UsageError

sys.path.insert(0, str(Path(__file__).parent))
from made_up import curves, write


def test_a_real_run_is_read_as_its_journal_says(tmp_path):
    run = recall_rl.train("probe", "recall", budget="smoke", out=tmp_path / "run", settings={"training.steps": 1000})
    (result,) = read([tmp_path]).results
    noted = list(run.evaluations())
    assert result.finished
    assert result.at.tolist() == [e["step"] for e in noted]
    for row, evaluation in zip(result.success, noted, strict=True):
        assert row[~np.isnan(row)].tolist() == [s["success"] for s in evaluation["scores"]]
    assert (result.method, result.seed, result.setting.protocol) == ("recall", 0, "own")
    assert result.setting.budget == "smoke [steps=1000]"
    assert result.seconds > 0


def test_changes_of_size_are_settings_and_changes_of_networks_are_names(tmp_path):
    write(tmp_path, "a")
    write(tmp_path, "b", **{"agent.critic.width": 32})
    write(tmp_path, "c", **{"training.steps": 3000})
    write(tmp_path, "d", **{"options.lam": 10})
    write(tmp_path, "e", **{"protocol.episodes": 3})
    found = {r.name: (r.method, r.setting.budget, r.setting.protocol) for r in read([tmp_path]).results}
    assert found == {
        "a": ("recall", "smoke", "own"),
        "b": ("recall [critic.width=32]", "smoke", "own"),
        "c": ("recall", "smoke [steps=3000]", "own"),
        "d": ("recall(lam=10.0)", "smoke", "own"),
        "e": ("recall", "smoke", "own [episodes=3]"),
    }
    rows = summarise(read([tmp_path]).results, {})
    assert len(rows) == 5, "nothing was averaged over what differs"


def test_a_run_counts_once(tmp_path):
    write(tmp_path / "one", "a", identity="x")
    write(tmp_path / "two", "a", identity="x")
    write(tmp_path / "three", "b", identity="y")
    found = read([tmp_path / "one", tmp_path / "two", tmp_path / "three"])
    assert [r.name for r in found.results] == ["a"]
    assert [p.reason.split(";")[0] for p in found.problems] == [
        "The same run as a",
        "As a in method, sequence, seed and setting, but another run",
    ]


@pytest.mark.parametrize(
    ("journal", "reason"),
    [
        (b"", "empty"),
        (b"not json\n", "cannot be read"),
        (b'{"event": 3}\n', "cannot be read"),
        (b"[" * 100_000 + b"\n", "cannot be read"),
        (b'{"event": "evaluation", "step": 5, "scores": [{"position": 9, "success": 1, "total": 0}]}\n', "impossible"),
        (b'{"event": "evaluation", "step": 5, "scores": [{"position": 0, "success": 7, "total": 0}]}\n', "impossible"),
        (b'{"event": "evaluation", "step": 5, "scores": []}\n', "without a step or scores"),
        (2 * b'{"event": "evaluation", "step": 5, "scores": [{"position": 0, "success": 1, "total": 0}]}\n', "order"),
    ],
)
def test_a_broken_journal_is_a_problem_not_a_crash(tmp_path, journal, reason):
    write(tmp_path, "good")
    write(tmp_path, "bad", seed=1)
    (tmp_path / "bad.jsonl").write_bytes(journal)
    found = read([tmp_path])
    assert [r.name for r in found.results] == ["good"]
    assert [p.name for p in found.problems] == ["bad"]
    assert reason in found.problems[0].reason


def test_a_last_line_that_was_not_finished_is_left_out(tmp_path):
    write(tmp_path, "a", ended=False)
    with open(tmp_path / "a.jsonl", "ab") as file:
        file.write(b'{"event": "evalu')
    (result,) = read([tmp_path]).results
    assert not result.finished
    assert len(result.at) == 8


def test_no_code_that_a_config_names_is_imported(tmp_path):
    write(tmp_path, "a")
    config = json.loads((tmp_path / "a.json").read_text())
    config["method"] = "antigravity:fly"
    (tmp_path / "a.json").write_text(json.dumps(config))
    (result,) = read([tmp_path]).results
    assert result.method.startswith("antigravity:fly")
    assert "antigravity" not in sys.modules


def test_measures_of_several_seeds_and_references_from_first_tasks(tmp_path):
    for seed in range(3):
        write(tmp_path, f"r{seed}", "recall", seed=seed)
        write(tmp_path, f"f{seed}", "fine-tuning", seed=seed, success=curves(2, kept=0.0))
        write(tmp_path, f"s{seed}", "fine-tuning", "reach-90", seed=seed, success=[[0.0], [0.5], [0.5], [1.0]])
    write(tmp_path, "half", "recall", seed=9, success=curves(2)[:5], ended=False)
    results = read([tmp_path]).results
    known = references(results)
    assert {task: len(areas) for (_, task), areas in known.items()} == {"reach-0": 3, "reach-90": 3}
    rows = {(r.method, r.sequence): r for r in summarise(results, known)}
    recall, forgetful = rows["recall", "reach-0,reach-90"], rows["fine-tuning", "reach-0,reach-90"]
    assert (recall.seeds, recall.unfinished) == ((0, 1, 2), 1)
    assert recall.measures["average_performance"].interval.value == 1.0
    assert forgetful.measures["average_performance"].interval.value == 0.5
    assert forgetful.measures["forgetting"].interval.value == 0.5
    assert forgetful.measures["backward_transfer"].interval.value == -1.0
    area = np.mean([0.25, 0.5, 0.75, 1.0]) - 0.05 * np.mean([1, 1, 0, 0])
    assert known[recall.setting, "reach-90"] == [0.5] * 3
    assert rows["fine-tuning", "reach-90"].measures["forward_transfer"].interval.value == 0.0
    assert recall.measures["forward_transfer"].interval.value > 0.1 * area
    (versus,) = [c for c in compare(rows.values()) if c.method == "fine-tuning"]
    assert (versus.against, versus.difference.value, versus.difference.n) == ("recall", -0.5, 3)
    assert versus.improvement.value == 0.0


def test_families_are_over_the_sequences_that_all_methods_have(tmp_path):
    for k, sequence in enumerate(("cw3-1", "cw3-2", "cw3-3")):
        for seed in range(2):
            write(tmp_path, f"r{k}{seed}", "recall", sequence, seed, success=curves(3))
            if k < 2:
                write(tmp_path, f"e{k}{seed}", "ewc", sequence, seed, success=curves(3, kept=0.5))
    found = overall(summarise(read([tmp_path]).results, {}))
    assert {(o.method, o.sequences) for o in found} == {("recall", ("cw3-1", "cw3-2")), ("ewc", ("cw3-1", "cw3-2"))}
    assert {o.method: o.means["average_performance"].value for o in found} == pytest.approx({"recall": 1, "ewc": 2 / 3})
    assert all(o.means["average_performance"].n == 4 for o in found)


def test_own_sequences_of_as_many_tasks_are_a_family():
    tasks = ("push,hammer", "hammer,push", "push,hammer,push")
    assert [family(name) for name in tasks] == ["own, 2 tasks", "own, 2 tasks", "own, 3 tasks"]
    assert [family(name) for name in ("cw3-1", "pair-5-8", "cw10", "push")] == ["cw3", "pair", None, None]


def test_results_are_a_data_frame_and_answer_sql(tmp_path):
    for seed in range(2):
        write(tmp_path, f"r{seed}", seed=seed)
    frame = recall_rl.results(tmp_path)
    assert len(frame) == 2 * (4 + 8)
    assert {"protocol", "budget", "seed", "results_version", "identity"} <= set(frame.columns)
    last = recall_rl.results(
        tmp_path, query="select seed, avg(success) s from results where step = 12000 group by seed"
    )
    assert sorted(last["s"]) == [1.0, 1.0]
    from recall_rl.analysis.store import write as write_parquet

    write_parquet(read([tmp_path]).results, tmp_path / "all.parquet")
    again = recall_rl.results(tmp_path / "all.parquet")
    assert again["success"].tolist() == frame["success"].tolist()
    with pytest.raises(UsageError, match="DuckDB cannot answer"):
        recall_rl.results(tmp_path, query="select nonsense from results")
    with pytest.raises(UsageError, match="nothing at"):
        recall_rl.results(tmp_path / "none")
