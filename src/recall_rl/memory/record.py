"""What memory held at one moment, as plain data: names, counts and digests of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from recall_rl.collect.row import Row
from recall_rl.memory.memory import Lesson, Memory
from recall_rl.memory.segment import Segment
from recall_rl.memory.store import Store
from recall_rl.memory.table import Table, TableRecord, copy, verify


@dataclass(frozen=True)
class SegmentRecord:
    """The tables of a segment."""

    tables: dict[str, TableRecord]
    gathered: int
    """Rows that were ever gathered into it."""


@dataclass(frozen=True)
class LessonRecord:
    """The tables of a lesson."""

    outputs: TableRecord
    segment: str | None
    """The segment whose rows are its states; None if it has states of its own."""
    states: TableRecord | None


@dataclass(frozen=True)
class MemoryRecord:
    """All segments and lessons."""

    segments: dict[str, SegmentRecord] = field(default_factory=dict[str, SegmentRecord])
    """By the name of their first file."""
    held: dict[int, str] = field(default_factory=dict[int, str])
    """The segment of each position."""
    lessons: dict[int, LessonRecord] = field(default_factory=dict[int, LessonRecord])

    def tables(self) -> list[TableRecord]:
        """Every table there is."""
        found = [t for segment in self.segments.values() for t in segment.tables.values()]
        for lesson in self.lessons.values():
            found += [t for t in (lesson.outputs, lesson.states) if t is not None]
        return found


def record(memory: Memory) -> MemoryRecord:
    """What memory holds now."""
    root = memory.store.root
    if root is None:
        return MemoryRecord()
    taught = [lesson.states for lesson in memory.lessons.values() if isinstance(lesson.states, Segment)]
    segments = {_name(s, root): s for s in (*memory.segments.values(), *taught)}

    def lesson_record(lesson: Lesson) -> LessonRecord:
        states, outputs = lesson.states, lesson.outputs.snapshot(root)
        if isinstance(states, Segment):
            return LessonRecord(outputs, _name(states, root), None)
        return LessonRecord(outputs, None, states.snapshot(root))

    return MemoryRecord(
        {
            name: SegmentRecord({k: t.snapshot(root) for k, t in s.tables.items()}, s.gathered)
            for name, s in segments.items()
        },
        {position: _name(s, root) for position, s in memory.segments.items()},
        {position: lesson_record(lesson) for position, lesson in memory.lessons.items()},
    )


def _name(segment: Segment, root: Path) -> str:
    return segment.records.snapshot(root).file


def verify_all(found: MemoryRecord, root: Path) -> None:
    """Notice damage to any table."""
    for table in found.tables():
        verify(table, root)


def moved(found: MemoryRecord, root: Path, folder: str) -> MemoryRecord:
    """The same records where those that are not sealed have been copied to another folder, to be appended to there."""
    names: dict[str, str] = {}
    for table in found.tables():
        if not table.sealed:
            names[table.file] = copy(table, root, f"{folder}/{Path(table.file).name}").file
    return renamed(found, names)


def renamed(found: MemoryRecord, names: Mapping[str, str]) -> MemoryRecord:
    """The same records under other names of files; those not named stay."""

    def table(old: TableRecord) -> TableRecord:
        return replace(old, file=names.get(old.file, old.file))

    return MemoryRecord(
        {
            names.get(name, name): SegmentRecord({k: table(t) for k, t in old.tables.items()}, old.gathered)
            for name, old in found.segments.items()
        },
        {position: names.get(name, name) for position, name in found.held.items()},
        {
            position: LessonRecord(
                table(old.outputs),
                None if old.segment is None else names.get(old.segment, old.segment),
                None if old.states is None else table(old.states),
            )
            for position, old in found.lessons.items()
        },
    )


def restore(found: MemoryRecord, row: Row, tasks: int, store: Store) -> Memory:
    """Memory as it was; sealed tables were verified before."""
    assert store.root is not None
    root, memory = store.root, Memory(row, tasks, store)

    def table(wanted: TableRecord) -> Table:
        return Table.opened(wanted, root, store.mapped, trusted=True)

    segments = {
        name: Segment(row, **{k: table(t) for k, t in s.tables.items()}, gathered=s.gathered)
        for name, s in found.segments.items()
    }
    memory.segments = {position: segments[name] for position, name in found.held.items()}
    for position, lesson in found.lessons.items():
        states = segments[lesson.segment] if lesson.segment else table(lesson.states)  # pyright: ignore
        memory.lessons[position] = Lesson(states, table(lesson.outputs))
    return memory
