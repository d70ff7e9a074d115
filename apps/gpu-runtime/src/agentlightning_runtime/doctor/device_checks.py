"""Checks of the compute device."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

import torch

from agentlightning_runtime.doctor.check import Check

GIBIBYTE = 1024**3

QUERY_SECONDS = 20.0
"""Timeout of the driver's tool, which hangs when the driver does."""


@dataclass(frozen=True, slots=True)
class DriverReport:
    """Output of `nvidia-smi`. `problem` is set when the output is unusable."""

    version: str = ""
    gpus: tuple[str, ...] = ()
    problem: str = ""


def device_checks(wanted: str) -> list[Check]:
    """Checks the driver, the device and its memory."""
    report = ask_driver()
    if wanted == "cpu":
        return [_processor()]
    checks = [_driver(report)] if report is not None else []
    if not torch.cuda.is_available():
        return [*checks, _no_gpu(report, wanted)]
    index = torch.device(wanted).index or 0 if wanted != "auto" else 0
    count = torch.cuda.device_count()
    if index >= count:
        remedy = f"Pass --device cuda:0 to cuda:{count - 1}; CUDA_VISIBLE_DEVICES may hide others"
        return [*checks, Check("device", "problem", f"device {wanted} does not exist; torch sees {count} GPUs", remedy)]
    return [*checks, _gpu(index), _memory(index)]


def ask_driver() -> DriverReport | None:
    """The state of the NVIDIA driver; None when its tool is not installed."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    query = [program, "--query-gpu=driver_version,name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=QUERY_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return DriverReport(problem=str(error))
    if done.returncode != 0:
        return DriverReport(problem=(done.stdout + done.stderr).strip())
    rows = [[part.strip() for part in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    gpus = tuple(f"{name} with {memory}" for _, name, memory in (row for row in rows if len(row) == 3))
    return DriverReport(version=rows[0][0] if rows else "", gpus=gpus)


def _driver(report: DriverReport) -> Check:
    if report.problem:
        remedy = "Restart the machine if the driver was updated; else reinstall it and see `dmesg | grep -i nvrm`"
        return Check("driver", "problem", f"nvidia-smi failed: {report.problem}", remedy)
    return Check("driver", "ok", f"NVIDIA driver {report.version}: {', '.join(report.gpus)}")


def _no_gpu(report: DriverReport | None, wanted: str) -> Check:
    found = f"torch {torch.__version__} sees no GPU"
    if report is None:
        remedy = (
            "On a machine with a GPU install the NVIDIA driver (in a container: start it with --gpus all). "
            "Small models also train on the CPU: --device cpu"
        )
    elif torch.version.cuda is None:
        found += "; this build supports CPUs only"
        remedy = "Install a build for CUDA, as listed on https://pytorch.org for this driver"
    else:
        found += f"; it is built for CUDA {torch.version.cuda}"
        remedy = "Update the driver to one for that CUDA, or install an older torch; see also CUDA_VISIBLE_DEVICES"
    return Check("device", "warning" if wanted == "auto" else "problem", found, remedy)


def _gpu(index: int) -> Check:
    properties = torch.cuda.get_device_properties(index)
    name = f"cuda:{index} {properties.name}, compute capability {properties.major}.{properties.minor}"
    found = f"{name}, torch {torch.__version__} for CUDA {torch.version.cuda}"
    try:
        probe = torch.ones(256, 256, device=f"cuda:{index}")
        is_right = bool((probe @ probe == 256).all())
    except RuntimeError as error:
        remedy = "This build of torch may not support the GPU: install the one listed on https://pytorch.org for it"
        return Check("device", "problem", f"{found}; a small matrix product failed: {error}", remedy)
    if not is_right:
        return Check(
            "device", "problem", f"{found}; a small matrix product is wrong", "The GPU may be broken: run dcgmi diag"
        )
    if not torch.cuda.is_bf16_supported():
        return Check(
            "device",
            "warning",
            f"{found}; no bfloat16 support",
            "Weights are kept in float32, which needs twice the memory",
        )
    return Check("device", "ok", found)


def _memory(index: int) -> Check:
    free, total = torch.cuda.mem_get_info(index)
    found = f"{free / GIBIBYTE:.1f} of {total / GIBIBYTE:.1f} GiB of GPU memory are free"
    if free < total / 2:
        return Check(
            "memory", "warning", found, "Another program uses the GPU: see nvidia-smi, and end unneeded processes"
        )
    return Check("memory", "ok", found)


def _processor() -> Check:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIBIBYTE
    found = f"CPU: {os.cpu_count()} cores, {torch.get_num_threads()} threads, {memory:.1f} GiB of memory"
    return Check("device", "ok", found)
