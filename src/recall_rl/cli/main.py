"""Entry point: reads the command line, runs one command, turns failures into one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import tyro

from recall_rl import __version__
from recall_rl.cli.campaign import Campaign
from recall_rl.cli.check import Check
from recall_rl.cli.completion import Completion
from recall_rl.cli.doctor import Doctor
from recall_rl.cli.evaluate import Evaluate
from recall_rl.cli.export import Export
from recall_rl.cli.extend import Extend
from recall_rl.cli.gate import Gate
from recall_rl.cli.list import List
from recall_rl.cli.push import Push
from recall_rl.cli.report import Report
from recall_rl.cli.resume import Resume
from recall_rl.cli.runs import Runs
from recall_rl.cli.train import Train
from recall_rl.cli.video import Video
from recall_rl.errors import RunError, UsageError

_DESCRIPTION = """Continual reinforcement learning: learn tasks one after another and keep the old ones.

  recall train --sequence probe --budget smoke     a first run, in seconds
  recall resume RUN                                go on with a run that was interrupted
  recall extend RUN --sequence TASK --out NEW      teach a finished run one more task
  recall evaluate RUN                              play its policy and count successes
  recall gate OLD NEW                              did the new policy keep the old skills?
  recall export RUN --format onnx                  its policy as one file to act with
  recall push RUN OWNER/NAME                       its policy on the Hugging Face Hub
  recall video RUN                                 see its policy at work
  recall report runs                               curves, measures and tables of runs as a page
  recall campaign run cw3 --out cw3                many runs: an experiment of the paper
  recall check ENV                                 is an environment of your own fit for training?
  recall runs                                      the runs of this folder and how far they are
  recall list                                      methods, tasks, sequences, protocols and budgets
  recall doctor                                    what this machine lacks, and how to mend it
  recall completion bash                           completion with the tab key
  recall train --help                              all options of training"""

Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Resume, tyro.conf.subcommand("resume")]
    | Annotated[Extend, tyro.conf.subcommand("extend")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Gate, tyro.conf.subcommand("gate")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[Push, tyro.conf.subcommand("push")]
    | Annotated[Video, tyro.conf.subcommand("video")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Campaign, tyro.conf.subcommand("campaign")]
    | Annotated[Check, tyro.conf.subcommand("check")]
    | Annotated[Runs, tyro.conf.subcommand("runs")]
    | Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Doctor, tyro.conf.subcommand("doctor")]
    | Annotated[Completion, tyro.conf.subcommand("completion")]
)


def parse(arguments: Sequence[str]) -> Any:
    """The command that these words ask for."""
    return tyro.cli(
        Command,  # pyright: ignore[reportArgumentType]
        prog="recall",
        description=_DESCRIPTION,
        args=arguments,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 the run failed, 2 wrongly asked."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if list(arguments) == ["--version"]:
        print(f"recall-rl {__version__}")
        return 0
    command = parse(arguments or ["--help"])
    try:
        return command.run()  # pyright: ignore
    except (UsageError, RunError) as error:
        print(f"recall: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("recall: stopped.", file=sys.stderr)
        return 130


def entry() -> None:
    """What the installed `recall` script calls."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has had enough, as in `recall list | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    leave(code)


def leave(code: int) -> None:
    """End the process."""
    if "jax" not in sys.modules:
        sys.exit(code)
    # All files are closed and all workers ended, but XLA's threads are not: once in some sixty runs that a signal had
    # stopped, the process crashed while the interpreter was taken down, which made a saved run look like a failed one.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
