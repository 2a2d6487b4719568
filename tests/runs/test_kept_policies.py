import json
import shutil

import numpy as np
import pytest
from processes import SMALL

import recall_rl
from recall_rl.cli.main import main
from recall_rl.errors import RunError, UsageError
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.evaluate import wilson
from recall_rl.runs.policy import decode_policy, encode_policy, kept, read_policy

QUICK = {**SMALL, "training.steps": 120}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs whose policies share layers, and one whose tasks have weights of their own in every layer."""
    folder = tmp_path_factory.mktemp("policy")
    return {
        method: recall_rl.train("reach-0,reach-180", method, budget="smoke", out=folder / method, settings=QUICK).path
        for method in ("recall", "packnet")
    }


@pytest.mark.parametrize("method", ["recall", "packnet"])
def test_a_policy_plays_the_evaluation_of_its_run_again(runs, method):
    for stage, step in ((1, 120), (2, 240)):
        noted = next(e for e in RunDirectory(runs[method]).evaluations() if e["step"] == step)
        scores = recall_rl.evaluate(runs[method], noted_episodes := 2, after=stage)
        assert [(s.task, s.success, s.total, s.length) for s in scores] == [
            (s["task"], s["success"], s["total"], s["length"]) for s in noted["scores"]
        ]
        assert all(s.episodes == noted_episodes for s in scores)


def test_layers_that_tasks_share_are_stored_once(runs):
    recall, packnet = (read_policy(runs[name]) for name in ("recall", "packnet"))
    assert len(recall.actors) == len(packnet.actors) == 2
    assert not np.array_equal(packnet.actors[0].layers[0].w, packnet.actors[1].layers[0].w)
    assert len(encode_policy(recall)) < len(encode_policy(packnet))


def test_a_policy_survives_its_file(runs):
    for run in runs.values():
        for path in kept(run).values():
            content = path.read_bytes()
            assert encode_policy(decode_policy(content, path.name)) == content


def test_damage_is_noticed(runs):
    content = kept(runs["recall"])[2].read_bytes()
    for at in {*range(8), *np.linspace(8, len(content) - 1, 300).astype(int)}:
        for broken in (content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], content[:at]):
            with pytest.raises(RunError, match=r"policy\.file"):
                decode_policy(broken, "policy.file")


def test_policies_are_kept_by_runs_that_grow(runs, tmp_path):
    grown = recall_rl.extend(runs["recall"], "reach-90", tmp_path / "grown").path
    assert sorted(kept(grown)) == [1, 2, 3]
    for stage, path in kept(runs["recall"]).items():
        assert path.read_bytes() == kept(grown)[stage].read_bytes()
    assert read_policy(grown).about.tasks == ("reach-0", "reach-180", "reach-90")


def test_a_policy_file_stands_by_itself(runs, tmp_path, capsys):
    file = tmp_path / "policy.safetensors"
    shutil.copy(kept(runs["recall"])[2], file)
    assert main(["evaluate", str(file), "--episodes", "3", "--task", "reach-180", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    score = json.loads(line)
    assert (score["task"], score["position"], score["episodes"]) == ("reach-180", 1, 3)
    assert score["low"] <= score["success"] <= score["high"]
    assert main(["evaluate", str(runs["recall"]), "--episodes", "2"]) == 0
    assert "2 episodes a task." in capsys.readouterr().out


def test_wrong_questions_get_a_sentence(runs, tmp_path):
    with pytest.raises(UsageError, match="after stages 1, 2, not 3"):
        read_policy(runs["recall"], after=3)
    with pytest.raises(UsageError, match="no run"):
        read_policy(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_policy(tmp_path / "none")
    with pytest.raises(UsageError, match="hammer"):
        recall_rl.evaluate(runs["recall"], 1, tasks=["hammer"])
    with pytest.raises(UsageError, match="positive"):
        recall_rl.evaluate(runs["recall"], 0)


def test_the_interval_of_a_rate_is_wilsons():
    """Worked by hand for 8 of 10: centre (0.8 + z²/20) / (1 + z²/10), z = 1.6449."""
    low, high = wilson(0.8, 10)
    assert (low, high) == pytest.approx((0.54082, 0.93149), abs=1e-4)
    assert wilson(1.0, 10)[1] == 1.0
    assert wilson(0.0, 50)[0] == 0.0
