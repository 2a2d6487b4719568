"""Campaigns on a real Ray cluster, whose workers, machines and head are really killed."""

import sys
import time

import pytest
from clusters import Machines, free_port, kill_worker, workers
from small_campaign import results
from waiting import until

from recall_rl.campaigns.ray import parse_bytes
from recall_rl.campaigns.ray_task import attempt, share
from recall_rl.errors import UsageError

pytest.importorskip("ray")
linux = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")


@pytest.fixture(scope="module")
def machines(recall):
    found = Machines(2, recall.environment)
    yield found
    found.stop()


def checkpoints(out):
    return list(out.glob("*/*/*/*/g*/checkpoint-*"))


@linux
def test_killed_workers_and_a_lost_machine_change_no_result(recall, plan, shared, machines, tmp_path):
    out = tmp_path / "out"
    process = recall.start("campaign", "run", plan, "--out", out, "--engine", "ray", "--address", machines.address)
    run = kill_worker(out)
    until(lambda: run not in workers(out).values())
    until(lambda: workers(out))
    machines.lose_machine()
    said, err = process.communicate(timeout=400)
    assert process.returncode == 0, said + err
    assert "2 of 2 runs done" in said
    assert "again" in said
    assert results(out) == results(shared)
    assert not (out / "failures.jsonl").exists()


@linux
@pytest.mark.faults
def test_a_new_head_takes_the_campaign_up(recall, plan, shared, tmp_path, machines):
    out = tmp_path / "out"
    process = recall.start("campaign", "run", plan, "--out", out, "--engine", "ray", "--address", machines.address)
    until(lambda: checkpoints(out))
    machines.lose_head()
    machines.replace()
    said, err = process.communicate(timeout=400)
    assert process.returncode == 0, said + err
    assert "lost     the Ray cluster" in said
    assert results(out) == results(shared)


def test_a_cluster_that_is_not_there_is_refused_within_seconds(recall, plan, tmp_path):
    began = time.monotonic()
    words = ("campaign", "run", plan, "--out", tmp_path / "out", "--engine", "ray")
    said = recall(*words, "--address", f"127.0.0.1:{free_port()}", code=2)
    assert "No Ray cluster answers" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert time.monotonic() - began < 60
    assert "host:port" in recall(*words, "--address", "somewhere", code=2)


def test_a_task_whose_machine_does_not_see_the_folder_says_so(tmp_path):
    code, reason = attempt(str(tmp_path / "elsewhere"), "runs/x", False, 0)
    assert code < -100
    assert "all machines must see" in reason


def test_shares_of_a_gpu_and_sizes_of_memory(monkeypatch):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    assert share(0.25) == {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.225"}
    assert share(2) == {}
    assert share(0) == {"JAX_PLATFORMS": "cpu"}
    assert parse_bytes("4G") == 4 * 2**30
    assert parse_bytes("100") == 100
    for wrong in ("", "G", "4X", "-1", "nan", "infG"):
        with pytest.raises(UsageError):
            parse_bytes(wrong)
