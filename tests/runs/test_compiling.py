"""A process that trains the same way twice compiles once."""

import jax

import recall_rl

# A width that no other test has, so that nothing of it was compiled before.
SHORT = {
    "training.steps": 100,
    "training.start_steps": 40,
    "training.update_after": 40,
    "training.chunk": 20,
    "training.evaluate_every": 100,
    "agent.actor.width": 17,
    "agent.critic.width": 17,
    "protocol.episodes": 1,
}


def train(folder):
    recall_rl.train("probe", budget="smoke", out=folder, settings=SHORT)


def test_a_process_that_trains_twice_compiles_once(tmp_path):
    compiled = []

    def listen(event, seconds, **more):
        if event.endswith("backend_compile_duration"):
            compiled.append(more.get("fun_name", event))

    jax.monitoring.register_event_duration_secs_listener(listen)
    train(tmp_path / "first")
    assert compiled, "otherwise nothing is heard"
    first = list(compiled)
    train(tmp_path / "second")
    assert compiled == first
