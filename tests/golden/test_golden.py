"""Numbers do not change unnoticed: short runs against what they gave when the results version was set."""

import json
import re
import sys
from pathlib import Path

import pytest

from recall_rl.runs.config import RESULTS_VERSION

sys.path.insert(0, str(Path(__file__).parent))
from play import KEPT, METHODS, play

WHAT_TO_DO = (
    "The numbers of a run have changed. If that is meant, raise RESULTS_VERSION in runs/config.py, say what changed in "
    "CHANGELOG.md under the new results version, and run: python tests/golden/play.py"
)


def numbers(value, path=""):
    """Every number of a tree by its place."""
    if isinstance(value, dict):
        return {k: v for name, inner in value.items() for k, v in numbers(inner, f"{path}.{name}").items()}
    if isinstance(value, list):
        return {k: v for i, inner in enumerate(value) for k, v in numbers(inner, f"{path}[{i}]").items()}
    return {path: value} if isinstance(value, int | float) else {}


@pytest.mark.parametrize("method", METHODS)
def test_a_short_run_gives_the_numbers_it_gave(method, tmp_path):
    """To a tolerance: other processors round otherwise, and 140 updates let that grow little."""
    kept = json.loads(KEPT.read_text())
    assert kept["results_version"] == RESULTS_VERSION, WHAT_TO_DO
    found, expected = numbers(play(method, tmp_path)), numbers(kept["runs"][method])
    assert found.keys() == expected.keys(), WHAT_TO_DO
    for place, value in expected.items():
        assert found[place] == pytest.approx(value, rel=1e-2, abs=1e-3), f"{place}: {WHAT_TO_DO}"


def test_the_changelog_tells_of_this_results_version():
    text = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    assert re.search(rf"results version {RESULTS_VERSION}\b", text, re.IGNORECASE), WHAT_TO_DO
