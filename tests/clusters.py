"""A Ray cluster of several one-CPU machines on this one, whose parts can be killed.

Ray starts it in a process of its own, this file as a script, which ends the cluster when its standard input closes.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


def free_port():
    """A port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Machines:
    """Ray's head, which carries no runs, and machines with one CPU each."""

    def __init__(self, count, environment=None):
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(count), str(free_port())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
        self.address, self.head = self._answer()

    def _answer(self):
        for line in self._process.stdout:
            if line.startswith("here "):
                return line.split()[1:]
        raise AssertionError(f"the cluster ended with code {self._process.wait()}")

    def _ask(self, word):
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        self.address, self.head = self._answer()

    def lose_machine(self):
        """Kill all processes of a machine, and let another take its place."""
        self._ask("machine")

    def lose_head(self):
        """Kill the head; its machines do not survive it for long."""
        self._ask("head")

    def replace(self):
        """Remove what is left of the cluster and start another at the same address."""
        self._ask("replace")

    def stop(self):
        """End everything."""
        self._process.stdin.close()
        self._process.stdout.read()
        self._process.stdout.close()
        self._process.wait()


class _Cluster:
    """What the script does."""

    def __init__(self, count, port):
        self.count, self.port = count, port
        self.start()

    def start(self):
        from ray.cluster_utils import Cluster

        arguments = {"num_cpus": 0, "gcs_server_port": self.port, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, connect=False, head_node_args=arguments)
        self.machines = [self.cluster.add_node(num_cpus=1, wait=False) for _ in range(self.count)]
        self.cluster.wait_for_nodes(timeout=300)
        self.pid = self.cluster.head_node.all_processes["gcs_server"][0].process.pid

    def machine(self):
        self.cluster.remove_node(self.machines.pop(0), allow_graceful=False)
        self.machines.append(self.cluster.add_node(num_cpus=1, wait=False))

    def head(self):
        self.cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)

    def replace(self):
        self.stop()
        self.start()

    def stop(self):
        self.cluster.shutdown()

    def say(self):
        print("here", self.cluster.address, self.pid, flush=True)


def _serve(count, port):
    cluster = _Cluster(count, port)
    cluster.say()
    for line in sys.stdin:
        getattr(cluster, line.strip())()
        cluster.say()
    cluster.stop()


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


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
