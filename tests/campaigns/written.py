"""Run folders as runs leave them, written without running: enough for all that looks at campaigns."""

import json


def write_run(campaign, place, last="end", steps=None, lines=40, folder=None):
    """A run that has ended, or has come to a step."""
    job = campaign.by_place[place]
    path = folder or campaign.folder(job)
    inner = path / "g0001"
    inner.mkdir(parents=True)
    (path / "config.json").write_text(job.config.to_json())
    (inner / "start.json").write_text('{"generation": null, "checkpoint": null}')
    whole = len(job.tasks) * job.config.training.steps
    steps = whole if steps is None else steps
    events = [{"event": "run", "identity": job.config.identity(), "tasks": job.tasks, "reproducible": True}]
    for k in range(1, lines + 1):
        learning = dict.fromkeys(("actor_loss", "critic_loss", "entropy", "q", "target", "alpha"), 0.123456789)
        events.append({"event": "training", "stage": 0, "step": steps * k // lines, "learning": learning})
        if k % 10 == 0:
            events.append({"event": "evaluation", "step": steps * k // lines, "scores": [], "average": k / lines})
    if last:
        events.append({"event": last, "step": steps})
    (inner / "journal.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    times = [{"line": k, "event": e["event"], "time": 1000.0 + 2 * k} for k, e in enumerate(events)]
    (inner / "times.jsonl").write_text("".join(json.dumps(t) + "\n" for t in times))
    return path
