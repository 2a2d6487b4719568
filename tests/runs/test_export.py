"""Policies that leave: as files, as ONNX graphs, and as something that acts with NumPy alone."""

import dataclasses
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import recall_rl
from recall_rl.cli.main import main
from recall_rl.collect.policy import Actor, Dense, act, distribution
from recall_rl.errors import UsageError
from recall_rl.runs.onnx import difference, encode_onnx
from recall_rl.runs.policy import About, Policy, encode_policy
from recall_rl.tasks.protocol import protocol

SIZES = (7, 24, 16, 6)


def made_up(activation="relu", norm=True, shared=2, tasks=3, seed=0):
    """A policy with random weights, whose first layers all tasks share."""
    rng = np.random.default_rng(seed)

    def layer(i):
        w, b = rng.standard_normal(SIZES[i : i + 2]) / np.sqrt(SIZES[i]), rng.standard_normal(SIZES[i + 1])
        extra = (1 + 0.2 * rng.standard_normal(b.shape), 0.2 * rng.standard_normal(b.shape)) if norm and i == 0 else ()
        return Dense(*(x.astype(np.float32) for x in (w, b, *extra)))

    trunk = [layer(i) for i in range(shared)]
    actors = [Actor((*trunk, *(layer(i) for i in range(shared, 3))), activation) for _ in range(tasks)]
    names = tuple(f"reach-{90 * k}" for k in range(tasks))
    about = About("recall", 3, 600, tasks, "smoke", protocol("own"), names, activation, 2)
    return Policy(about, tuple(actors))


KINDS = {
    "shared trunk, norm, relu": made_up(),
    "no norm, leaky relu": made_up("leaky_relu", norm=False),
    "everything apart, tanh": made_up("tanh", shared=0),
    "all the same": made_up(shared=3),
    "one task": made_up(tasks=1),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "policy.safetensors"
    path.write_bytes(encode_policy(made_up()))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_an_onnx_graph_acts_as_the_policy_does(kind):
    policy = KINDS[kind]
    assert difference(policy, encode_onnx(policy), observations=200, seed=1) < 1e-5


def test_the_check_of_a_graph_can_fail():
    policy, other = made_up(), made_up(seed=1)
    assert difference(policy, encode_onnx(other)) > 1e-2


def test_an_onnx_graph_says_what_it_is_and_gives_the_distribution_too():
    import onnx
    import onnxruntime

    policy = made_up()
    content = encode_onnx(policy)
    props = {p.key: p.value for p in onnx.load_from_string(content).metadata_props}
    assert json.loads(props["tasks"]) == list(policy.tasks)
    assert json.loads(props["policy"])["method"] == "recall"
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    seen = np.random.default_rng(0).standard_normal((5, 7), np.float32)
    mean, log_std = session.run(["mean", "log_std"], {"observation": seen, "task": np.array(2)})
    for row, m, s in zip(seen, mean, log_std, strict=True):
        ours = distribution(policy.actors[2], row)
        np.testing.assert_allclose(m, ours[0], atol=1e-5)
        np.testing.assert_allclose(s, ours[1], atol=1e-5)


def test_what_tasks_share_stands_in_a_graph_once():
    assert len(encode_onnx(made_up(shared=2))) < len(encode_onnx(made_up(shared=0))) / 1.5


def test_a_loaded_policy_acts(file):
    policy, given = recall_rl.load(file), made_up()
    seen = np.linspace(-1, 1, 7)
    for k, task in enumerate(given.tasks):
        expected = act(given.actors[k], seen.astype(np.float32), None)
        np.testing.assert_array_equal(policy.act(seen, task), expected)
        np.testing.assert_array_equal(policy.act(seen, k), expected)
    draws = [policy.act(seen, 0, np.random.default_rng(s)) for s in (5, 5, 6)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert all(np.abs(d).max() <= 1 for d in draws)


def test_a_name_that_occurs_twice_is_the_last_of_them(file):
    policy = recall_rl.load(file)
    again = dataclasses.replace(
        policy, about=dataclasses.replace(policy.about, tasks=("reach-0", "reach-90", "reach-0"))
    )
    seen = np.zeros(7)
    np.testing.assert_array_equal(again.act(seen, "reach-0"), again.act(seen, 2))


def test_wrong_questions_to_a_policy_get_a_sentence(file):
    policy = recall_rl.load(file)
    with pytest.raises(UsageError, match=r"shape \(7,\)"):
        policy.act(np.zeros((1, 7)), 0)
    with pytest.raises(UsageError, match="Did you mean 'reach-90'"):
        policy.act(np.zeros(7), "reach-9")
    with pytest.raises(UsageError, match="0 to 2"):
        policy.act(np.zeros(7), 3)
    with pytest.raises(UsageError, match="0 to 2"):
        policy.act(np.zeros(7), -1)


def test_loading_and_acting_import_no_jax(file):
    code = (
        "import sys, numpy, recall_rl\n"
        f"print(recall_rl.load({str(file)!r}).act(numpy.zeros(7), 'reach-0').shape)\n"
        "print([m for m in ('jax', 'jaxlib', 'equinox', 'optax', 'gymnasium', 'huggingface_hub') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "(3,)\n[]\n"), done.stderr


def test_a_policy_whose_tasks_name_code_can_act_and_runs_none_of_it(tmp_path):
    policy = made_up()
    about = dataclasses.replace(policy.about, tasks=("gym:no_such_module:Env-v0", "reach-0", "reach-90"))
    path = tmp_path / "policy.safetensors"
    path.write_bytes(encode_policy(dataclasses.replace(policy, about=about)))
    assert recall_rl.load(path).act(np.zeros(7), 0).shape == (3,)
    with pytest.raises(UsageError, match="--trust-code"):
        recall_rl.evaluate(path, 1)


def test_the_command_writes_both_formats(file, tmp_path, capsys):
    assert main(["export", str(file), "--out", str(tmp_path / "new" / "a.safetensors")]) == 0
    assert (tmp_path / "new" / "a.safetensors").read_bytes() == file.read_bytes()
    assert main(["export", str(file), "--format", "onnx", "--out", str(tmp_path / "a.onnx")]) == 0
    assert "0 reach-0, 1 reach-90, 2 reach-180" in capsys.readouterr().out
    assert difference(made_up(), (tmp_path / "a.onnx").read_bytes()) < 1e-5
    shutil.copy(file, tmp_path / "file")
    assert main(["export", str(file), "--out", str(tmp_path / "file" / "a")]) == 2
    assert "cannot be written" in capsys.readouterr().err
