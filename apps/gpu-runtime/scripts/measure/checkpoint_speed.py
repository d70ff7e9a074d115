"""How long a checkpoint of all weights makes training wait."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.settings import ModelRequest
from measure.local_engine import local_engine, no_progress
from measure.workloads import QWEN_600M, default_loss, workload

if TYPE_CHECKING:
    from measure.plan import Plan


def measure_checkpoints(plan: Plan) -> dict[str, Any]:
    """Two checkpoints of a model, the first of which allocates the host memory, and a step beside each.

    `save_s` is the time until training continues, `step_s` that of the next step, which waits for the copy, and
    `written_s` the time until the checkpoint is on disk. `step_alone_s` is a step without a checkpoint.
    """
    shape = plan.shape(QWEN_600M)
    batch = workload("agents", shape.vocabulary, is_tiny=plan.is_tiny)
    loss, adam = default_loss("ppo"), AdamParameters(learning_rate=1e-6)
    with local_engine(plan, shape) as engine:
        model = engine.create_model(ModelRequest("m", "base", 1))

        def step() -> None:
            model.forward_backward(batch, loss, no_progress)
            model.optim_step(adam)

        step()
        found: dict[str, Any] = {"step_alone_s": plan.seconds(step)}
        for name in ("first", "later"):
            began = time.perf_counter()
            pending = model.save_checkpoint("c", b"")
            saved = time.perf_counter() - began
            seconds = plan.seconds(step)
            pending.result()
            found[name] = {"save_s": saved, "step_s": seconds, "written_s": time.perf_counter() - began}
    return found
