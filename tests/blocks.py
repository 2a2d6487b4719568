"""The blocks of a page of documentation, and how each is run as a reader would run it.

A comment in front of a block says what is different in CI:

    <!-- not run: why -->                    the block stands as it is, with a reason
    <!-- in CI: --set training.steps=400 --> options for its `recall train` and `recall campaign` commands
    <!-- in CI: evaluate --episodes 2 -->    options for another command
    <!-- in CI: short -->                    a few hundred steps, in shell commands and in Python's `budget="smoke"`
    <!-- in CI: with examples/a.py -->       a file of the repository that the reader is told to have
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHORT = {
    "training.steps": 200,
    "training.start_steps": 50,
    "training.update_after": 50,
    "training.evaluate_every": 100,
    "protocol.episodes": 1,
}
RUN = ("sh", "bash", "python", "toml")
PLAIN = ("text", "bibtex")
PATIENCE = 400
_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^ *(?P=fence) *$", re.M | re.S
)
_MARKERS = re.compile(r"(?:<!--(?:(?!-->).)*-->\s*)+\Z", re.S)
_MARKER = re.compile(r"<!--\s*(not run|in CI):\s*(.*?)\s*-->", re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it begins at and what the comments before it say."""

    language: str
    text: str
    line: int
    not_run: str | None = None
    in_ci: tuple[str, ...] = ()

    @property
    def name(self):
        """The file that the block is the text of, if its first line names one."""
        first = re.match(r"# ([\w./-]+\.(?:toml|py))\s*$", self.text.partition("\n")[0])
        return first[1] if first else None


def blocks(text):
    """The blocks of a page, but for directives, which the docs are built with."""
    found = []
    for fence in _FENCE.finditer(text):
        before = _MARKERS.search(text[: fence.start()])
        markers = _MARKER.findall(before[0]) if before else []
        language = fence["language"].strip()
        if language.startswith("{"):
            continue
        reasons = [said for kind, said in markers if kind == "not run"]
        found.append(
            Block(
                language,
                textwrap.dedent(fence["text"]),
                text.count("\n", 0, fence.start()) + 1,
                reasons[0] if reasons else None,
                tuple(" ".join(said.split()) for kind, said in markers if kind == "in CI"),
            )
        )
    return found


def complaint(block):
    """What is wrong with a block before it is run, or None."""
    if block.not_run is not None:
        return None if len(block.not_run) > 10 else "says 'not run' without a reason"
    if block.language not in RUN + PLAIN:
        return f"has the language {block.language!r}: use one of {', '.join(RUN + PLAIN)}, or say why it is not run"
    return None


def shortened(options):
    """The options of a marker, by the command they are for."""
    short = " ".join(f"--set {name}={value}" for name, value in SHORT.items())
    if options == "short":
        return {"train": short, "campaign run": short, "campaign plan": short}
    if options.startswith("-"):
        return {"train": options, "campaign run": options, "campaign plan": options}
    command, _, more = options.partition(" -")
    return {command: f"-{more}"}


def shell(block):
    """The script of a block: what is installed is there already, and commands are shortened as its markers say."""
    added = [shortened(said) for said in block.in_ci if not said.startswith("with ")]
    lines, changed = ["set -euo pipefail"], set()
    for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
        command, space, remark = re.match(r"(.*?)(\s+#.*|\s*)()$", line).groups()
        if command.startswith("pip install"):
            _check_extras(command)
            continue
        for index, options in enumerate(added):
            for name, more in options.items():
                if re.match(rf"recall {name}\b", command):
                    command, _ = f"{command} {more}", changed.add(index)
        lines.append(command + space + remark)
    unused = [said for i, said in enumerate(s for s in block.in_ci if not s.startswith("with ")) if i not in changed]
    assert not unused, f"nothing to shorten by {unused}"
    return "\n".join(lines) + "\n"


def _check_extras(command):
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = re.findall(r"recall-rl(?:\[([\w,-]+)\])?", command)
    assert asked, f"installs something else than recall-rl: {command}"
    unknown = {extra for extras in asked for extra in extras.split(",") if extra} - set(known)
    assert not unknown, f"no such extra: {', '.join(unknown)}"


def script(block):
    """The text of a Python block, shortened if asked."""
    if "short" not in block.in_ci:
        return block.text
    text = block.text.replace('budget="smoke"', f'budget="smoke", settings={SHORT}')
    assert text != block.text, 'nothing to shorten: no budget="smoke"'
    return text


class Reader:
    """Follows a page in a folder of its own, with the environment's `recall` and `python`."""

    def __init__(self, folder, environment):
        path = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
        self.folder, self.environment = folder, {**environment, "PATH": path, "TERM": "dumb", "COLUMNS": "100"}

    def follow(self, block):
        """Do what a block says; None, or what went wrong."""
        for said in block.in_ci:
            if said.startswith("with "):
                shutil.copy(ROOT / said.removeprefix("with "), self.folder)
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "python":
            compile(block.text, f"line {block.line}", "exec")
        if block.name:
            file = self.folder / block.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.language == "python":
            return self._start([sys.executable, "-c", script(block)])
        elif block.language in ("sh", "bash"):
            return self._start(["bash", "-c", shell(block)])
        return None

    def _start(self, command):
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            out, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            return f"did not end within {PATIENCE} seconds:\n{command[-1]}\n{out}"
        if process.returncode:
            return f"ended with code {process.returncode}:\n{command[-1]}\n{out}"
        return f"shows a traceback:\n{out}" if "Traceback (most recent call last)" in out else None


def pages():
    """The pages of the repository that have blocks, by their paths in it."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(p.relative_to(ROOT).as_posix() for p in found if "_build" not in p.parts and blocks(p.read_text()))


if __name__ == "__main__":  # what is run of which page, and what is not: python tests/blocks.py
    for page in pages():
        for block in blocks((ROOT / page).read_text()):
            said = complaint(block) or (f"not run: {block.not_run}" if block.not_run else "; ".join(block.in_ci))
            print(f"{page}:{block.line}: {block.language}: {said or 'as it stands'}")
