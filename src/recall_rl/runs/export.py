"""Exporting a policy: everything to act with as one file, for this library or for runtimes without it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from recall_rl.errors import UsageError
from recall_rl.runs.files import replace_file
from recall_rl.runs.policy import Policy, encode_policy, read_policy

Format = Literal["safetensors", "onnx"]


def export(
    path: str | Path, out: str | Path | None = None, format: Format = "safetensors", *, after: int | None = None
) -> Path:
    """Write the policy of a run, or of a policy file, as `recall export` does; a file that is there is replaced."""
    policy = read_policy(Path(path), after, trust_code=True)
    target = Path(f"policy.{format}") if out is None else Path(out)
    content = _encode(policy, format)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, content)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from error
    return target


def _encode(policy: Policy, format: Format) -> bytes:
    if format == "safetensors":
        return encode_policy(policy)
    from recall_rl.runs.onnx import encode_onnx

    return encode_onnx(policy)
