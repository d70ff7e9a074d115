"""The digest of published weights."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from torch import Tensor

_MAX_THREADS = 8


def digest_of(weights: Iterable[tuple[str, Tensor]]) -> str:
    """`sha256:` and the SHA-256 of the digests of all tensors in the order of their names.

    The digest of a tensor covers name, data type, shape and values. Tensors are hashed in parallel: `hashlib` releases
    the interpreter's lock. Reading waits for hashing, so that few are in memory where each is made when it is
    read.
    """
    threads = min(_MAX_THREADS, os.cpu_count() or 1)
    free, parts = Semaphore(2 * threads), dict[str, "Future[bytes]"]()
    with ThreadPoolExecutor(threads) as pool:
        for name, tensor in weights:
            free.acquire()
            parts[name] = pool.submit(_tensor_digest, name, tensor)
            parts[name].add_done_callback(lambda _: free.release())
    whole = hashlib.sha256()
    for _, part in sorted(parts.items()):
        whole.update(part.result())
    return f"sha256:{whole.hexdigest()}"


def _tensor_digest(name: str, tensor: Tensor) -> bytes:
    digest = hashlib.sha256(f"{name}\0{tensor.dtype}\0{list(tensor.shape)}\0".encode())
    values = tensor.detach().cpu().contiguous()
    digest.update(values.reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()
