"""Files from strangers: opened in processes whose memory and time are bounded, with a canary that no code may touch."""

import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
import time

import msgspec
import numpy as np
import pytest
from processes import SMALL, environment
from safetensors.numpy import load_file, save

import recall_rl
from recall_rl.runs.files import file_record
from recall_rl.runs.manifest import Manifest

BOUNDED = """
import resource, sys
from recall_rl.cli.main import entry
resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))
entry()
"""
"""`recall` with at most 6 GiB of memory, of which JAX maps some."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    settings = {**SMALL, "training.steps": 120}
    return recall_rl.train(
        "reach-0,reach-180", "recall", budget="smoke", out=tmp_path_factory.mktemp("hostile") / "run", settings=settings
    ).path


@pytest.fixture
def mine(run, tmp_path):
    """A copy of a run, unfinished, to be made hostile."""
    path = tmp_path / "run"
    shutil.copytree(run, path, symlinks=True)
    rewrite(path, lambda content: content["about"].update(finished=False, weights=None))
    return path


def newest(path):
    """The folder of the newest checkpoint, whole or not."""
    return max(path.glob("g*/checkpoint-*"))


def rewrite(path, change):
    """Change the newest manifest of a run and seal it again: digests find damage, not malice."""
    file = newest(path) / "manifest.json"
    content = json.loads(file.read_bytes())["manifest"]
    change(content)
    file.write_bytes(msgspec.convert(content, Manifest, strict=False).encode())
    for other in file.parent.parent.glob("checkpoint-*"):
        if other != file.parent:
            shutil.rmtree(other)
    return file


def change_state(path, change):
    """Change the arrays of the newest checkpoint, with a digest that fits."""
    file = newest(path) / "state.safetensors"
    file.write_bytes(change(load_file(file)))
    record = file_record(file)
    rewrite(path, lambda m: m.update(state={"length": record.length, "sha256": record.sha256}))


def refused(tmp_path, *words, seconds=60):
    """What `recall` says about a hostile file; it must end by itself, soon, with one sentence."""
    canary = tmp_path / "canary"
    surroundings = {**environment(tmp_path / "cache"), "CANARY": str(canary)}
    surroundings["PYTHONPATH"] += os.pathsep + str(tmp_path)
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", BOUNDED, *map(str, words)],
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{time.monotonic() - began:.1f} s, at most {peak:.0f} MB")
    assert ended.returncode in (1, 2), ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr, ended.stderr
    assert not canary.exists(), "code was executed"
    return ended.stderr


class Bomb:
    def __reduce__(self):
        return os.system, ("touch $CANARY",)


def test_a_pickle_in_place_of_a_file_is_never_loaded(mine, tmp_path):
    bomb = pickle.dumps(Bomb())
    change_state(mine, lambda arrays: bomb)
    assert "cannot be read" in refused(tmp_path, "resume", mine)
    for name in ("config.json",):
        (mine / name).write_bytes(bomb)
        refused(tmp_path, "resume", mine)


def test_a_huge_header_is_refused(mine, tmp_path):
    change_state(mine, lambda arrays: (1 << 60).to_bytes(8, "little") + b"{" + b" " * 100)
    assert "cannot be read" in refused(tmp_path, "resume", mine)


def test_arrays_larger_than_their_file_are_refused(mine, tmp_path):
    header = json.dumps({"x": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}).encode()
    change_state(mine, lambda arrays: len(header).to_bytes(8, "little") + header)
    assert "cannot be read" in refused(tmp_path, "resume", mine)


@pytest.mark.parametrize("name", ["../../../../etc/passwd", "/etc/passwd", "g0001/memory/../../config.json"])
def test_no_path_leads_out_of_the_folder(mine, tmp_path, name):
    def change(content):
        table = next(iter(content["memory"]["segments"].values()))["tables"]["records"]
        table["file"] = name

    rewrite(mine, change)
    assert "names a file that no run writes" in refused(tmp_path, "resume", mine)


def test_links_are_not_followed(mine, tmp_path):
    rows, secret = next(mine.rglob("*.rows")), tmp_path / "secret"
    secret.write_bytes(rows.read_bytes())
    rows.unlink()
    rows.symlink_to(secret)
    assert "symbolic links" in refused(tmp_path, "resume", mine)


def spoil(value):
    def change(arrays):
        name = next(n for n in arrays if "actor" in n and arrays[n].dtype == np.float32 and n.startswith("agent"))
        arrays[name] = np.full_like(arrays[name], value)
        return save(arrays)

    return change


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(mine, tmp_path, value):
    change_state(mine, spoil(value))
    assert "not finite" in refused(tmp_path, "resume", mine)


def test_weights_of_another_shape_are_refused(mine, tmp_path):
    def change(arrays):
        name = next(n for n in arrays if n.startswith("agent.shared") and arrays[n].ndim == 2)
        arrays[name] = np.zeros((3, 3), np.float32)
        return save(arrays)

    change_state(mine, change)
    assert "another config" in refused(tmp_path, "resume", mine)


@pytest.mark.parametrize("file", ["config.json", "g0001/start.json", "g0001/journal.jsonl"])
def test_json_a_million_deep_is_refused(mine, tmp_path, file):
    deep = b"[" * 10**6 + b"]" * 10**6 + b"\n"
    (mine / file).write_bytes(deep)
    said = refused(tmp_path, "resume", mine)
    assert said
    subprocess.run([sys.executable, "-m", "recall_rl", "runs", mine], check=True, env=environment(tmp_path), timeout=60)


def test_a_manifest_a_million_deep_is_refused(mine, tmp_path):
    file = newest(mine) / "manifest.json"
    file.write_bytes(b'{"manifest":' * 10**6 + b"1" + b"}" * 10**6)
    assert "No checkpoint" in refused(tmp_path, "resume", mine)


def test_code_that_a_config_names_is_not_imported(mine, tmp_path):
    (tmp_path / "evil.py").write_text("import os\nos.system('touch $CANARY')\ndef method(): pass\n")
    config = json.loads((mine / "config.json").read_text())
    for change in ({"method": "evil:method"}, {"sequence": "reach-0,gym:evil:Env-v0"}):
        (mine / "config.json").write_text(json.dumps({**config, **change}))
        for words in (
            ("resume", mine),
            ("extend", mine, "--sequence", "reach-0", "--out", tmp_path / "new"),
            ("train", "--config", mine / "config.json", "--out", tmp_path / "new"),
        ):
            assert "--trust-code" in refused(tmp_path, *words)
        subprocess.run(
            [sys.executable, "-m", "recall_rl", "runs", mine], check=True, env=environment(tmp_path), timeout=60
        )
        assert not (tmp_path / "canary").exists()


def test_networks_that_no_memory_holds_are_refused(mine, tmp_path):
    config = json.loads((mine / "config.json").read_text())
    config["agent"]["actor"]["width"] = 10**9
    (mine / "config.json").write_text(json.dumps(config))
    assert "wider than" in refused(tmp_path, "resume", mine)


def test_rows_beyond_a_file_are_refused(mine, tmp_path):
    def change(content):
        table = next(iter(content["memory"]["segments"].values()))["tables"]["records"]
        table["count"] = table["capacity"] = 10**15

    rewrite(mine, change)
    assert "shorter" in refused(tmp_path, "resume", mine)


def test_a_newer_format_says_what_to_do(mine, tmp_path):
    file = newest(mine) / "manifest.json"
    file.write_bytes(file.read_bytes().replace(b'"format":2', b'"format":99'))
    assert "update recall-rl" in refused(tmp_path, "resume", mine)
