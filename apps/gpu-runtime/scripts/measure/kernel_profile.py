"""Kernels of a training step and of decoding."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.profiler import ProfilerActivity, profile

from agentlightning_runtime.contract.settings import ModelRequest
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.http.http_server import EndpointSettings
from measure.local_engine import LORA, local_engine, measure_steps, no_progress
from measure.sampling_speed import requests_of
from measure.workloads import QWEN_600M, default_loss, workload

if TYPE_CHECKING:
    from measure.plan import Plan

LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchKernelExC")


def measure_kernels(plan: Plan) -> dict[str, Any]:
    """Launches and busy time of the device; tables in `profile-train.txt` and `profile-decode.txt`."""
    shape = plan.shape(QWEN_600M)
    batch = workload("agents", shape.vocabulary, is_tiny=plan.is_tiny)
    backend = BuiltinBackend(EndpointSettings())
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if plan.is_cuda else [])]
    found: dict[str, Any] = {}
    with local_engine(plan, shape, inference=backend) as engine:
        model = engine.create_model(ModelRequest("p", "base", 1, LORA))
        measure_steps(plan, model, [batch], 1)

        def decode() -> None:
            for each in backend._sampler.submit("p", requests_of(shape.vocabulary, 32, (64, 8), 1)):
                each.wait()

        def train() -> None:
            model.forward_backward(batch, default_loss("ppo"), no_progress)

        decode()
        for name, work in {"train": train, "decode": decode}.items():
            with profile(activities=activities) as trace:
                seconds = plan.seconds(work)
            averages = trace.key_averages()
            key = "self_cuda_time_total" if plan.is_cuda else "self_cpu_time_total"
            table = averages.table(sort_by=key, row_limit=40, max_name_column_width=70)
            (plan.out / f"profile-{name}.txt").write_text(table, "utf-8")
            found[name] = {
                "seconds": seconds,
                "launches": sum(each.count for each in averages if each.key in LAUNCHES),
                # An operation repeats the time of its kernels.
                "device_busy_s": sum(
                    each.self_device_time_total for each in averages if each.device_type.name == "CUDA"
                )
                / 1e6,
            }
    return found
