"""A Ray cluster of several one-CPU machines on this one, whose parts can be killed."""

import os
import signal
import socket
import time
from pathlib import Path


def free_port():
    """A port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Machines:
    """Ray's head, which carries no runs, and machines with one CPU each."""

    def __init__(self, count, port=None):
        self.port, self.count = port or free_port(), count
        self.machines = []
        self.start()

    def start(self):
        """Start a head at the same address as ever, and the machines."""
        from ray.cluster_utils import Cluster

        arguments = {"num_cpus": 0, "port": self.port, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, connect=False, head_node_args=arguments)
        self.address = self.cluster.address
        self.machines = [self.cluster.add_node(num_cpus=1, wait=False) for _ in range(self.count)]
        self.cluster.wait_for_nodes(timeout=120)

    def lose_machine(self):
        """Kill all processes of a machine, and let another take its place."""
        self.cluster.remove_node(self.machines.pop(0), allow_graceful=False)
        self.machines.append(self.cluster.add_node(num_cpus=1, wait=False))

    def lose_head(self):
        """Kill the head; its machines do not survive it."""
        self.cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)

    def replace(self):
        """Remove what is left of the cluster and start another at the same address."""
        self.stop()
        self.start()

    def stop(self):
        """End everything."""
        self.cluster.shutdown()


def workers(out):
    """Ray workers at work on runs of a campaign, with the run's process of each."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
                if b"recall_rl.campaigns.work" in words and str(out).encode() in words:
                    parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                    found[parent] = int(path.name)
            except OSError:
                continue
    return {worker: run for worker, run in found.items() if _is_ray(worker)}


def _is_ray(pid):
    try:
        return b"ray::" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def kill_worker(out, seconds=120):
    """Kill a Ray worker while it carries a run; returns the process of the run."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for worker, run in workers(out).items():
            try:
                os.kill(worker, signal.SIGKILL)
            except ProcessLookupError:
                continue
            return run
        time.sleep(0.05)
    raise AssertionError("no worker was at work")
