import numpy as np
import pytest

from recall_rl.memory.store import Store
from recall_rl.memory.table import DamageError, Table, copy, verify


def filled(path, mapped, count=1000, capacity=5000):
    table = Table(3, capacity, "float32", path, mapped)
    rng = np.random.default_rng(0)
    for size in (1, 7, count - 8):
        table.append(rng.standard_normal((size, 3), dtype=np.float32))
    return table


@pytest.mark.parametrize("mapped", [False, True])
def test_a_table_is_the_same_in_ram_and_on_disk(tmp_path, mapped):
    ram, disk = filled(None, False), filled(tmp_path / "t", mapped)
    numbers = np.random.default_rng(1).integers(0, 1000, 500)
    np.testing.assert_array_equal(ram.take(numbers), disk.take(numbers))
    disk.seal()
    np.testing.assert_array_equal(ram.take(numbers), disk.take(numbers))
    assert (tmp_path / "t").stat().st_size == 1000 * 12
    assert (tmp_path / "t").stat().st_mode & 0o222 == 0
    again = Table.opened(disk.snapshot(tmp_path), tmp_path, mapped)
    np.testing.assert_array_equal(again.records, ram.records)


@pytest.mark.parametrize("mapped", [False, True])
def test_an_open_table_goes_on_from_a_record_in_a_file_of_its_own(tmp_path, mapped):
    table = filled(tmp_path / "one", mapped)
    record, before = table.snapshot(tmp_path), table.records.copy()
    table.append(np.ones((50, 3), np.float32))
    more = Table.opened(copy(record, tmp_path, "two"), tmp_path, mapped)
    np.testing.assert_array_equal(more.records, before)
    more.append(np.zeros((2, 3), np.float32))
    table.append(np.ones((9, 3), np.float32))  # A writer that was replaced reaches its own file only.
    np.testing.assert_array_equal(more.records, np.concatenate([before, np.zeros((2, 3), np.float32)]))
    verify(more.snapshot(tmp_path), tmp_path)
    more.seal()
    np.testing.assert_array_equal(Table.opened(more.snapshot(tmp_path), tmp_path, mapped).records, more.records)


@pytest.mark.parametrize("mapped", [False, True])
def test_any_flipped_byte_and_any_shortening_is_noticed(tmp_path, mapped):
    table = filled(tmp_path / "t", mapped, count=20, capacity=20)
    table.seal()
    whole, snapshot = (tmp_path / "t").read_bytes(), table.snapshot(tmp_path)
    (tmp_path / "t").chmod(0o644)
    for at in range(len(whole)):
        (tmp_path / "t").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DamageError):
            Table.opened(snapshot, tmp_path, mapped)
        (tmp_path / "t").write_bytes(whole[:at])
        with pytest.raises(DamageError):
            Table.opened(snapshot, tmp_path, mapped)


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path):
    table = filled(tmp_path / "t", False)
    snapshot = table.snapshot(tmp_path)
    (tmp_path / "t").rename(tmp_path / "elsewhere")
    (tmp_path / "t").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        Table.opened(snapshot, tmp_path, False)


def test_names_of_files_are_never_given_twice():
    store = Store()
    assert len({store.name(p) for p in (0, 1, 0, 1)}) == 4


def test_room_on_disk_is_taken_as_records_come(tmp_path):
    Table(44, 20_000_000, "float32", tmp_path / "t", mapped=True)
    assert (tmp_path / "t").stat().st_blocks == 0
