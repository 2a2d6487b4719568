"""Every method by name, in a few lines each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recall_rl.errors import unknown
from recall_rl.methods.method import Method


@dataclass(frozen=True)
class Entry:
    """A method's line in the catalogue."""

    sentence: str
    reference: str
    build: Callable[[], Method]


def fine_tuning() -> Method:
    """Train on each task in turn, with no protection of the old ones."""
    return Method()


CATALOGUE: dict[str, Entry] = {
    "fine-tuning": Entry(
        "Trains on each task in turn without protecting the old ones: shows the forgetting that others avoid.",
        "Wolczyk et al., Continual World, NeurIPS 2021",
        fine_tuning,
    ),
}


def method(name: str) -> Method:
    """The method of this name."""
    if name not in CATALOGUE:
        raise unknown("method", name, CATALOGUE, "`recall list methods` shows them all.")
    return CATALOGUE[name].build()
