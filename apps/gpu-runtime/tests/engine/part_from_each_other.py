"""Run by torchrun: two processes communicate, leave, and record their remaining threads."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from agentlightning_runtime.engine.base.ranks import join_ranks, leave_ranks


def names_of_threads() -> list[str]:
    return [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]


def main() -> None:
    ranks = join_ranks(torch.device("cpu"))
    ranks.sum_up(torch.ones(3))
    ranks.tell("something")
    leave_ranks(ranks)
    (Path(sys.argv[1]) / f"threads-of-{ranks.index}").write_text("\n".join(names_of_threads()))


if __name__ == "__main__":
    main()
