"""Methods that keep their promises, and methods that break one."""

import os
import subprocess
import sys

import pytest

from recall_rl.checks.method import check_method

BROKEN = {
    "broken_methods:raises": "KeyError: 'the head is missing' (broken_methods.py, line",
    "broken_methods:not_finite": "not finite",
    "broken_methods:unseeded": "The same seed gave other weights the second time",
    "broken_methods:looks_ahead": "depends on whether a third follows",
    "broken_methods:unsaved": "cannot be saved and loaded",
    "outside_methods:nothing_like_it": "must return a recall_rl.methods.method.Method; it returned int",
    "outside_methods:needy": "c has none",
    "outside_methods:missing": "has no function 'missing'",
    "no_such_module:method": "There is no module 'no_such_module'",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_method_that_breaks_a_promise_is_told_which(name):
    *before, last = check_method(name)
    assert last.level == "wrong"
    assert BROKEN[name] in last.sentence
    assert last.advice
    assert all(finding.level == "good" for finding in before)


def test_nothing_is_wrong_with_one_that_keeps_them():
    found = check_method("outside_methods:shy")
    assert [finding.level for finding in found] == ["good"] * 5
    assert "c=0.01" in found[0].sentence


def test_rounding_is_no_dependence():
    """Another number of heads is another program, and XLA may round it otherwise."""
    assert [finding.level for finding in check_method("broken_methods:rounds")] == ["good"] * 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recall", "naive-replay", "a-gem"])
def test_methods_of_ours_keep_them_as_users_compile(name):
    users = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    command = [sys.executable, "-m", "recall_rl", "check", "--method", name]
    out = subprocess.run(command, env=users, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stdout
