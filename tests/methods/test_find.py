import dataclasses
import subprocess
import sys
import textwrap

import pytest

from recall_rl.errors import UsageError
from recall_rl.methods import find
from recall_rl.methods.catalogue import CATALOGUE
from recall_rl.methods.method import Method
from recall_rl.runs.config import resolve


def test_every_entry_has_a_sentence_a_reference_and_options_with_defaults():
    for name, entry in CATALOGUE.items():
        assert entry.sentence.endswith(".")
        assert entry.reference
        assert isinstance(find.method(name), Method)
        assert set(find.options(name)) == set(find.typed_options(name, {}))


def test_an_outside_method_is_found_by_its_path_with_its_options():
    assert find.options("outside_methods:shy") == {"c": 1e-2}
    config = resolve(method="outside_methods:shy", sequence="probe", settings=["options.c=0.5"])
    assert config.options == {"c": 0.5}
    assert config.label() == "outside_methods:shy(c=0.5)"


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("recal", [], "Did you mean 'recall'"),
        ("no_such_module:method", [], "no module 'no_such_module'"),
        ("outside_methods:missing", [], "no function 'missing'"),
        ("outside_methods:constant", [], "no function 'constant'"),
        ("outside_methods:nothing_like_it", [], "must return"),
        ("outside_methods:needy", [], "needs a default"),
        ("recall", ["options.lamb=1"], "Did you mean 'lam'"),
        ("recall", ["options.lam=much"], "wrong kind"),
        ("fine-tuning", ["options.c=1"], "has no options"),
    ],
)
def test_a_mistake_gets_a_sentence(name, settings, says):
    with pytest.raises(UsageError, match=says):
        resolve(method=name, sequence="probe", settings=settings)


def test_options_are_part_of_a_runs_identity_and_a_config_is_a_valid_file():
    import json

    plain, other = (resolve(method="recall", sequence="probe", settings=s) for s in ([], ["options.lam=3"]))
    assert plain.identity() != other.identity()
    assert resolve(file=json.loads(other.to_json())) == other
    assert other.budget == "laptop", "an option of the method is no change of the budget"


def test_a_method_may_change_the_budget_by_an_option():
    released = resolve(method="recall-as-released", sequence="probe")
    assert (released.training.lag, released.training.explore_again, released.agent.clip) == (0, False, 0.1)
    tamed = resolve(method="recall-as-released", sequence="probe", settings=["options.clip=none"])
    assert tamed.agent.clip is None
    assert (released.budget, tamed.budget) == ("laptop", "laptop")


def test_a_method_in_the_present_folder_is_found_from_the_command_line(tmp_path):
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            '''
            from recall_rl.methods.method import Method


            def method() -> Method:
                """Fine-tuning by another name."""
                return Method()
            '''
        )
    )
    run = "from recall_rl.cli.main import entry; entry()"
    command = [sys.executable, "-c", run, "train", "--sequence", "probe", "--method", "mine:method"]
    short = ["--budget", "smoke", "--set", "training.steps=100", "--set", "training.evaluate_every=100"]
    short += ["--set", "training.start_steps=50", "--set", "training.update_after=50"]
    done = subprocess.run([*command, *short], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs").exists()


def test_an_announced_method_is_listed_and_found(tmp_path, monkeypatch):
    """An installed package announces a method by an entry point."""
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[recall_rl.methods]\nshyly = outside_methods:shy\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find.announced()["shyly"].reference == "outside_methods:shy"
    assert find.options("shyly") == {"c": 1e-2}


def test_an_option_that_was_added_leaves_earlier_runs_their_identity():
    now = resolve(method="recall", sequence="probe")
    before = dataclasses.replace(now, options={k: v for k, v in now.options.items() if k != "old_tasks"})
    used = resolve(method="recall", sequence="probe", settings=["options.old_tasks=2"])
    assert before.identity() == now.identity() != used.identity()
