"""The short runs whose numbers are kept; `python tests/golden/play.py` makes them anew after a change of numbers."""

import json
import os
from pathlib import Path

METHODS = ("fine-tuning", "recall", "recall-paper", "packnet", "ewc")
KEPT = Path(__file__).parent / "kept.json"
SETTINGS = {
    "training.steps": 200,
    "training.start_steps": 60,
    "training.update_after": 60,
    "training.chunk": 20,
    "training.evaluate_every": 100,
    "agent.actor.width": 16,
    "agent.critic.width": 16,
    "agent.batch": 16,
    "protocol.episodes": 2,
}


def play(method, folder):
    """What a short run over two probe tasks notes: every number of its journal."""
    import recall_rl

    run = recall_rl.train("reach-0,reach-180@100", method, budget="smoke", out=folder / method, settings=SETTINGS)
    return [e for e in run.journal() if e["event"] in ("training", "evaluation")]


def main():
    os.environ["NPROC"] = "1"
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"
    import tempfile

    from recall_rl.runs.config import RESULTS_VERSION

    with tempfile.TemporaryDirectory() as folder:
        runs = {method: play(method, Path(folder)) for method in METHODS}
    KEPT.write_text(json.dumps({"results_version": RESULTS_VERSION, "runs": runs}, indent=0) + "\n")


if __name__ == "__main__":
    main()
