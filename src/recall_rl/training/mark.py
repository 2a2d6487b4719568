"""Places in the loop between two chunks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """A place in the loop between two chunks."""

    stage: int = 0
    chunk: int = 0
    """Chunks of the stage that were learnt from; 0: the stage has not begun."""
    phase: int = 0
    """Of the method's `settle`: the phase under way, once all chunks are learnt from."""
    phase_chunks: int = 0
    """Chunks in that phase."""
    phase_done: int = 0
    """Chunks of it that are done."""
    settled: int = 0
    """Chunks of all phases of the stage that are done."""
