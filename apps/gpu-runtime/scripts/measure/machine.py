"""The machine: versions, memory bandwidth, products, launches, and copies to the host."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import torch

from measure.plan import NotRunError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from measure.plan import Plan

PACKAGES = (
    *("torch", "transformers", "peft", "accelerate", "triton", "numpy", "safetensors"),
    *("grpcio", "protobuf", "pydantic", "starlette", "uvicorn"),
    *("vllm", "flash-attn", "liger-kernel", "kernels", "bitsandbytes"),
)

PRODUCT_SIZE = 8192
COPY_BYTES = 2**28


def measure_machine(plan: Plan) -> dict[str, Any]:
    """Versions; on a GPU also what the figures of a step are limited by."""
    found: dict[str, Any] = {"python": platform.python_version(), "cores": os.cpu_count()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    if not plan.is_cuda:
        return found
    found["device"] = torch.cuda.get_device_name(plan.device)
    query = ("nvidia-smi", "--query-gpu=driver_version,memory.total,clocks.sm", "--format=csv,noheader")
    with contextlib.suppress(OSError):
        found["driver"] = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - the arguments are ours
    shared = os.statvfs("/dev/shm")  # noqa: S108 - its size is what is measured
    found["shared_memory_gib"] = shared.f_bavail * shared.f_frsize / 2**30
    return {**found, **_products(), **_launches(), **_copies()}


def _seconds(work: Callable[[], Any], times: int) -> float:
    work()
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1000 / times


def _products() -> dict[str, Any]:
    operations = 2 * PRODUCT_SIZE**3
    short, other = (torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    found: dict[str, Any] = {"bf16_tflops": operations / _seconds(lambda: short @ other, 10) / 1e12}
    torch.set_float32_matmul_precision("high")
    long, other_long = short.float(), other.float()
    found["tf32_tflops"] = operations / _seconds(lambda: long @ other_long, 5) / 1e12
    with contextlib.suppress(RuntimeError, TypeError):

        def product() -> torch.Tensor:
            return torch.mm(short, other, out_dtype=torch.float32)

        found["bf16_to_fp32_tflops"] = operations / _seconds(product, 5) / 1e12
        exact = long[:256].double() @ other_long.double()
        found["bf16_to_fp32_error"] = float((product()[:256] - exact).norm() / exact.norm())
    torch.set_float32_matmul_precision("highest")
    return found


def _launches() -> dict[str, float]:
    small = torch.zeros(8, device="cuda")
    began = time.perf_counter()
    for _ in range(5000):
        small.add_(1)
    torch.cuda.synchronize()
    return {"launch_us": (time.perf_counter() - began) / 5000 * 1e6}


def _copies() -> dict[str, float]:
    large = torch.randn(2**29, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(large)
    found = {"copy_tb_s": 2 * large.numel() * 2 / _seconds(lambda: target.copy_(large), 10) / 1e12}
    host = torch.empty(COPY_BYTES, dtype=torch.uint8)
    pinned = host.pin_memory()
    device = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda")
    copies: dict[str, Callable[[], Any]] = {
        "to_device_pageable": lambda: device.copy_(host),
        "to_device_pinned": lambda: device.copy_(pinned, non_blocking=True),
        "to_host_pageable": lambda: host.copy_(device),
        "to_host_pinned": lambda: pinned.copy_(device, non_blocking=True),
    }
    for name, copy in copies.items():
        found[f"{name}_gb_s"] = COPY_BYTES / _seconds(copy, 5) / 1e9
    began = time.perf_counter()
    hashlib.sha256(host.numpy().data).hexdigest()
    found["sha256_gb_s"] = COPY_BYTES / (time.perf_counter() - began) / 1e9
    return found


def run_gpu_tests(plan: Plan, root: Path) -> dict[str, Any]:
    """The tests that need a GPU, in the clone."""
    if not plan.is_cuda:
        raise NotRunError("There is no GPU")
    if importlib.util.find_spec("pytest") is None:
        raise NotRunError("pytest is not installed")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/gpu", "-p", "no:cacheprovider"],
        cwd=root,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=max(10.0, min(150.0, plan.seconds_left)),
    )
    return {"is_right": done.returncode == 0, "end": done.stdout.strip().splitlines()[-12:]}
