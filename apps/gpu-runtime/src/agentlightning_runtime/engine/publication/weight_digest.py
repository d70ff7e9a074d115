"""The digest of published weights."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

_MAX_THREADS = 8


def digest_of(weights: Mapping[str, Tensor]) -> str:
    """`sha256:` and the SHA-256 of the digests of all tensors in the order of their names.

    The digest of a tensor covers name, data type, shape and values. Tensors are hashed in parallel: `hashlib` releases
    the interpreter's lock.
    """
    whole = hashlib.sha256()
    with ThreadPoolExecutor(max_workers=min(_MAX_THREADS, os.cpu_count() or 1)) as pool:
        for part in pool.map(_tensor_digest, *zip(*sorted(weights.items()), strict=True)):
            whole.update(part)
    return f"sha256:{whole.hexdigest()}"


def _tensor_digest(name: str, tensor: Tensor) -> bytes:
    digest = hashlib.sha256(f"{name}\0{tensor.dtype}\0{list(tensor.shape)}\0".encode())
    values = tensor.detach().cpu().contiguous()
    digest.update(values.reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()
