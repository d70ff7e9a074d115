"""The folder in which published weights wait for vLLM."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 -- a file system in memory; the folder within it is private
_LOG = logging.getLogger(__name__)


def make_publication_folder(folder: Path | None, needed_bytes: int, memory: Path = _MEMORY) -> Path:
    """A new folder in memory, or on disk where memory does not suffice.

    vLLM reads adapters from files only. Those in memory need no disk, and several versions are there at a time.

    Args:
        folder: Parent folder, instead of memory.
        needed_bytes: Memory that the published versions take.
        memory: The file system in memory.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="agentlightning-", dir=folder))
    has_memory = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 * needed_bytes
    if not has_memory:
        _LOG.info("Published weights are written to disk: %s has less than %d bytes", memory, 2 * needed_bytes)
    return Path(tempfile.mkdtemp(prefix="agentlightning-vllm-", dir=memory if has_memory else None))
