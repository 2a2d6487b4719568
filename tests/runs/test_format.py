"""docs/format.md against real runs: what is there is specified, and what is specified is there."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from processes import SMALL
from safetensors.numpy import load_file

import recall_rl
from recall_rl.runs.config import resolve
from recall_rl.runs.directory import RunDirectory
from recall_rl.runs.train import run

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text()
BEFORE, TREE, AFTER = PAGE.split("```")
WORDS = {word for quoted in re.findall(r"`([^`]+)`", BEFORE + AFTER) for word in re.findall(r"[\w.]+", quoted)}
WORDS |= {*re.findall(r"[\w.]+", TREE), *(part for word in WORDS for part in word.split("."))}


QUICK = {**SMALL, "training.steps": 120, "machine.checkpoint_seconds": 0}


def interrupted(path):
    """A run that was left in the middle of a task."""
    settings = [f"{name}={value}" for name, value in QUICK.items()]
    config = resolve(method="recall", sequence="reach-0", budget_name="smoke", settings=settings)
    for k, _ in enumerate(run(config, RunDirectory.create(path, config))):
        if k == 3:
            break
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Real runs that use every kind of file: rows, thinned rows, lessons with states of their own, an extension."""
    folder = tmp_path_factory.mktemp("format")
    made = [
        recall_rl.train("reach-0,reach-180", name, budget="smoke", out=folder / name, settings={**QUICK, **more}).path
        for name, more in (("recall", {}), ("clonex", {}), ("a-gem", {"options.rows": 50}))
    ]
    return [*made, interrupted(folder / "half"), recall_rl.extend(made[0], "reach-90", folder / "grown").path]


def fields(value):
    """Every key of a tree, but for names of files, numbers of positions and the fingerprint's own."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "fingerprint":
                yield key
                continue
            if not re.fullmatch(r"\d+|g\d+/memory/.*", key):
                yield key
            yield from fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner)


def test_every_file_is_specified(runs):
    suffixes = set()
    for folder in runs:
        for file in folder.rglob("*"):
            name = file.name
            if file.parent.name == "memory":
                assert re.fullmatch(r"\d{3}-\d{4}\.[a-z]+", name)
                suffixes.add(file.suffix)
            elif file.is_dir():
                assert re.fullmatch(r"g\d{4}|checkpoint-\d{6}|memory|policies", name)
            elif file.parent.name == "policies":
                assert re.fullmatch(r"after-[123].safetensors", name)
            else:
                assert name in WORDS, name
    assert suffixes == {".rows", ".ends", ".tails", ".kept", ".states", ".policy"}
    assert suffixes <= WORDS


def test_every_field_is_specified_and_every_specified_field_is_there(runs):
    seen = set()
    for folder in runs:
        for manifest in folder.rglob("manifest.json"):
            seen |= set(fields(json.loads(manifest.read_text())))
        for name in ("lease.json", "start.json"):
            for file in folder.rglob(name):
                seen |= set(json.loads(file.read_text()))
        for line in (folder / "times.jsonl").read_text().splitlines():
            seen |= set(json.loads(line))
    seen -= {"records", "ends", "tails", "kept"}  # Tables of a segment, named as their files are.
    assert not {field for field in seen if field not in WORDS}
    table = PAGE.split("Its fields:")[1]
    specified = {w for q in re.findall(r"`([^`]+)`", table) for w in re.findall(r"[\w]+", q)}
    assert specified - seen <= {"state", "safetensors", "checkpoint", "NUMBER", "partial"}


def test_every_array_is_specified(runs):
    kinds = set()
    for folder in runs:
        for state in folder.rglob("state.safetensors"):
            kinds |= {re.match(r"[a-z]+", name)[0] for name in load_file(state)}
    assert kinds == {"agent", "acting", "evaluating", "lane", "metrics"}
    assert kinds <= WORDS


def test_a_policy_is_what_the_page_says(runs):
    """Read by this page alone: header, names, digest and the forward pass."""
    for path in runs[0].rglob("after-*.safetensors"):
        content = path.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        noted, _, text = header["policy"].partition(" ")
        arrays, about = load_file(path), json.loads(text)
        assert set(about) <= WORDS
        digest = hashlib.sha256(text.encode())
        for name in sorted(arrays):
            assert re.fullmatch(r"(shared|head\.\d+)\.\d+\.(w|b|scale|offset)", name)
            digest.update(f"{name}{arrays[name].shape}".encode() + arrays[name].tobytes())
        assert digest.hexdigest() == noted
        assert arrays["shared.0.w"].shape == (4, 16)
        assert about["tasks"] == ["reach-0", "reach-180"][: about["stage"]]
