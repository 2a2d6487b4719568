"""A campaign of two small runs that share their beginning."""

from processes import SMALL

from recall_rl.runs.directory import RunDirectory

PLAN = """
methods = ["recall"]
sequences = ["reach-0,reach-90", "reach-0,reach-180"]
seeds = [0]
budget = "smoke"
[settings]
"""


def write_plan(path, text=PLAN, **settings):
    """A plan file of small runs."""
    path.write_text(text + "".join(f'"{k}" = {v}\n' for k, v in {**SMALL, **settings}.items()))
    return path


def results(out):
    """Journals and weights of all wanted runs."""
    found = {}
    for config in sorted(out.glob("runs/**/config.json")):
        run = RunDirectory(config.parent)
        found[str(config.parent.relative_to(out))] = (run.journal(), run.weights.read_bytes())
    return found
