"""A Ray cluster of several nodes on this machine, on loopback; also run by the TypeScript tests.

As a program it writes the address as JSON. For each line `kill N` on standard input it kills the training worker on
node N with SIGKILL and writes its process id, and it stops the cluster when standard input ends.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Generator

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Ray replaces 127.0.0.1 by an address that other machines reach, unless clusters are disabled; at any other address its
# servers listen on all interfaces.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

#: Bytes of the object store of a node: the least that Ray accepts.
_STORE_BYTES = 80 * 2**20


class Nodes:
    """A running cluster."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.address: str = cluster.address

    def kill_worker(self, node: int) -> int:
        """Kills the training worker of a node; returns its process id."""
        (worker,) = self._workers(node)
        worker.kill()
        return worker.pid

    def _workers(self, node: int) -> list[psutil.Process]:
        nodes = [self._cluster.head_node, *sorted(self._cluster.worker_nodes, key=lambda each: each.node_id)]
        (raylet,) = nodes[node].all_processes["raylet"]
        return [each for each in psutil.Process(raylet.process.pid).children() if "TrainWorker" in each.cmdline()[0]]


@contextmanager
def two_nodes() -> Generator[Nodes]:
    """Two nodes with a core each."""
    from ray.cluster_utils import Cluster

    node: dict[str, Any] = {"num_cpus": 1, "object_store_memory": _STORE_BYTES, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        cluster.add_node(**node)
        cluster.wait_for_nodes()
        yield Nodes(cluster)
    finally:
        cluster.shutdown()


def main() -> None:
    """Serves until standard input ends."""
    with two_nodes() as nodes:
        write(address=nodes.address)
        for line in sys.stdin:
            write(killed=nodes.kill_worker(int(line.removeprefix("kill "))))


def write(**fields: object) -> None:
    """Writes a line of JSON."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
