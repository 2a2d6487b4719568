import json

import pytest

from recall_rl.errors import UsageError
from recall_rl.runs.config import Config, read_file, resolve
from recall_rl.training.config import BUDGETS


def test_a_resolved_config_is_a_valid_input(tmp_path):
    config = resolve(
        sequence="cw3-1",
        protocol_name="mw3",
        budget_name="smoke",
        seed=7,
        settings=["agent.clip=0.1", "machine.workers=2"],
    )
    path = tmp_path / "config.json"
    path.write_text(config.to_json())
    assert resolve(file=read_file(path)) == config
    assert resolve(file=read_file(path)).identity() == config.identity()


def test_options_win_over_the_file_and_settings_over_all(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('sequence = "probe"\nbudget = "smoke"\nseed = 3\n[training]\nsteps = 1000\n')
    config = resolve(file=read_file(path), seed=4, settings=["training.steps=2000"])
    assert (config.sequence, config.seed, config.training.steps) == ("probe", 4, 2000)
    assert config.training.start_steps == BUDGETS["smoke"].training.start_steps


def test_budgets_and_protocols_lose_their_name_when_changed():
    plain = resolve(sequence="probe", budget_name="smoke")
    assert (plain.budget, plain.protocol.name) == ("smoke", "own")
    changed = resolve(sequence="probe", budget_name="smoke", settings=["agent.gamma=0.5", "protocol.episodes=2"])
    assert (changed.budget, changed.protocol.name) == ("smoke+changed", "own+changed")
    again = resolve(file=json.loads(changed.to_json()), settings=["agent.gamma=0.99", "protocol.episodes=10"])
    assert (again.budget, again.protocol.name) == ("smoke", "own")


def test_identity_is_of_what_determines_the_result():
    base = resolve(sequence="probe")
    assert resolve(sequence="probe", settings=["machine.workers=2", "machine.patience=5"]).identity() == base.identity()
    for other in (["agent.tau=0.1"], ["training.lanes=2"], ["seed=1"], ["protocol.episodes=3"]):
        assert resolve(sequence="probe", settings=other).identity() != base.identity()


def test_the_paper_budget_is_the_papers_table():
    config: Config = resolve(sequence="cw10", budget_name="paper")
    a, t = config.agent, config.training
    assert (a.learning_rate, a.batch, a.gamma, a.tau, a.target_std) == (1e-3, 128, 0.99, 0.005, 0.089)
    assert (a.actor.width, a.actor.trunk + a.actor.head, a.actor.activation) == (256, 4, "relu")
    assert (t.steps, t.start_steps, t.evaluate_every, t.replay_size) == (10**6, 10_000, 20_000, 10**6)


def test_values_are_read_by_their_type():
    config = resolve(sequence="probe", settings=["agent.clip=none", "agent.learning_rate=3e-4", "training.lag=0"])
    assert (config.agent.clip, config.agent.learning_rate, config.training.lag) == (None, 3e-4, 0)


@pytest.mark.parametrize(
    ("settings", "helps"),
    [
        (["training.stps=3"], "Did you mean 'training.steps'"),
        (["nonsense.deep.path=3"], "no setting"),
        (["training.steps.more=3"], "no setting"),
        (["training=3"], "group of settings.*training.steps"),
        (["training.steps"], "no '='"),
        (["training.steps=many"], "wrong kind.*training.steps"),
        (["agent.actor.activation=swish"], "wrong kind.*agent.actor.activation"),
        (["training.steps=130"], "multiple of training.chunk"),
        (["training.evaluate_every=130"], "multiple of training.chunk"),
        (["training.start_steps=130"], "multiple of training.chunk"),
        (["training.lanes=3"], "multiple of training.lanes"),
        (["training.lag=2"], "must be 0 or 1"),
        (["training.anneal=1.5"], r"must be in \[0, 1\]"),
        (["training.updates_per_step=0"], "at least one update"),
        (["machine.workers=0"], "must be positive"),
        (["agent.actor.trunk=-1"], "cannot be negative"),
        (["seed=-1"], "must not be negative"),
    ],
)
def test_wrong_settings_are_explained(settings, helps):
    with pytest.raises(UsageError, match=helps):
        resolve(sequence="probe", settings=settings)


def test_wrong_names_and_files_are_explained(tmp_path):
    with pytest.raises(UsageError, match="Say what to learn"):
        resolve()
    with pytest.raises(UsageError, match="no method 'recal'"):
        resolve(sequence="probe", method="recal")
    with pytest.raises(UsageError, match="Did you mean 'laptop'"):
        resolve(sequence="probe", budget_name="labtop")
    with pytest.raises(UsageError, match="cannot be read"):
        read_file(tmp_path / "absent.json")
    for name, text in (("a.json", "{"), ("a.toml", "= 3"), ("b.json", "[" * 100_000)):
        (tmp_path / name).write_text(text)
        with pytest.raises(UsageError, match="not valid"):
            read_file(tmp_path / name)
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(UsageError, match="table of settings"):
        read_file(tmp_path / "list.json")
