"""The tensors of a checkpoint as torch.distributed.checkpoint writes them: each rank its shards, in separate files.

No rank ever holds a whole tensor of another, and a checkpoint can be loaded by any number of ranks.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from agentlightning_runtime.engine.base.ranks import Ranks


#: Prefix of the names of a model's weights in a checkpoint.
WEIGHTS_PREFIX = "weights/"


def write_shards(folder: Path, tensors: Mapping[str, Tensor], ranks: Ranks) -> None:
    """Writes the shards of this rank and flushes them to disk. All ranks must call this.

    Returns once the shards of all ranks are written. Replicated tensors are written by one rank.

    Raises:
        RuntimeError: on all ranks, when one of them cannot write.
    """
    writer = FileSystemWriter(folder, sync_files=True)
    with _failures_as_errors(f"The checkpoint in {folder} cannot be written"), _without_single_process_warning():
        save(dict(tensors), storage_writer=writer, process_group=ranks.checkpoints, no_dist=ranks.checkpoints is None)


def read_shards(folder: Path, tensors: Mapping[str, Tensor], ranks: Ranks) -> None:
    """Reads the shards of this rank into its tensors, one after another. All ranks must call this.

    Raises:
        RuntimeError: when a tensor is missing, has another shape, or cannot be read.
    """
    with _failures_as_errors(f"The checkpoint in {folder} cannot be read"), _without_single_process_warning():
        load(
            dict(tensors),
            storage_reader=FileSystemReader(folder),
            process_group=ranks.checkpoints,
            no_dist=ranks.checkpoints is None,
        )


def stored_shapes(folder: Path) -> dict[str, TensorStorageMetadata]:
    """Shape and data type of each stored tensor, by name."""
    described = FileSystemReader(folder).read_metadata().state_dict_metadata
    return {name: one for name, one in described.items() if isinstance(one, TensorStorageMetadata)}


def read_whole(folder: Path, prefix: str) -> dict[str, Tensor]:
    """The whole tensors whose names have the prefix, on the CPU, by their names without it. One process calls this."""
    whole = {
        name: torch.empty(one.size, dtype=one.properties.dtype)
        for name, one in stored_shapes(folder).items()
        if name.startswith(prefix)
    }
    with _failures_as_errors(f"The checkpoint in {folder} cannot be read"), _without_single_process_warning():
        load(dict(whole), storage_reader=FileSystemReader(folder), no_dist=True)
    return {name.removeprefix(prefix): tensor for name, tensor in whole.items()}


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors, with the prefix before their names."""
    return {prefix + name: tensor for name, tensor in tensors.items()}


@contextmanager
def _failures_as_errors(what: str) -> Generator[None]:
    """The exception of torch.distributed.checkpoint is a BaseException, which would end the process."""
    try:
        yield
    except CheckpointException as error:
        failures = "; ".join(f"rank {rank}: {failure[0]}" for rank, failure in error.failures.items())
        raise RuntimeError(f"{what}: {failures}") from error


@contextmanager
def _without_single_process_warning() -> Generator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*assuming the intent is to (save|load) in a single process")
        yield
