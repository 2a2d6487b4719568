import pytest

from recall_rl.errors import UsageError
from recall_rl.tasks.metaworld import CW10
from recall_rl.tasks.protocol import PROTOCOLS, honest_name, protocol
from recall_rl.tasks.sequences import PAPER_SEQUENCES, natural_protocol, sequence, task_names

CW = PROTOCOLS["cw"]


def test_the_papers_sequences():
    assert len(CW10) == len(set(CW10)) == 10
    assert task_names("cw3-1") == ("push", "window-close", "hammer")
    assert task_names("cw3-6") == ("stick-pull", "peg-unplug-side", "stick-pull")
    assert task_names("cw3-8") == ("faucet-close", "shelf-place", "peg-unplug-side")
    for i in range(1, 9):
        assert task_names(f"cw6-{i}") == task_names(f"cw3-{i}") * 2
    assert task_names("cw20") == task_names("cw10") * 2
    assert task_names("pair-5-0") == ("handle-press-side", "hammer")
    assert sum(name.startswith("pair-") for name in PAPER_SEQUENCES) == 100


def test_each_task_is_a_stage_with_a_head_of_its_own():
    tasks = sequence("cw3-6", CW)
    assert [stage.new for stage in tasks.stages] == [(0,), (1,), (2,)]
    assert tasks.tasks[0] == tasks.tasks[2]


def test_own_lists_and_natural_protocols():
    assert [t.name for t in sequence(" push , hammer", CW).tasks] == ["push", "hammer"]
    assert natural_protocol("push,hammer") == "cw"
    assert natural_protocol("gym:Hopper-v5") == natural_protocol("probe") == "own"
    assert sequence("reach-90@1e5", PROTOCOLS["own"]).tasks[0].options == {"turn": 90, "scale": 1e5}


@pytest.mark.parametrize(
    ("text", "protocol_name", "helps"),
    [
        ("hamer", "cw", "Did you mean 'hammer'"),
        ("cw3-9", "cw", "cw3-"),
        ("push,,hammer", "cw", "empty task name"),
        ("push", "own", "--protocol cw"),
        ("reach-0", "cw", "--protocol own"),
        ("gym:Hopper-v5", "mw3", "--protocol own"),
    ],
)
def test_mistakes_are_explained(text, protocol_name, helps):
    with pytest.raises(UsageError, match=helps):
        sequence(text, PROTOCOLS[protocol_name])


def test_unknown_protocol():
    with pytest.raises(UsageError, match="Did you mean 'mw3'"):
        protocol("mw2")


def test_a_changed_protocol_does_not_keep_its_name():
    from dataclasses import replace

    changed = honest_name(replace(CW, episodes=3))
    assert changed.name == "cw+changed"
    assert honest_name(changed) == changed
    assert honest_name(replace(changed, episodes=CW.episodes)) == CW
