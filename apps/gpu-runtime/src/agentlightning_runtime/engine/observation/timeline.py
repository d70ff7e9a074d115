"""The time of an engine's operations and their phases, summed up for each optimizer step."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agentlightning_runtime.engine.observation.step_profiler import StepProfiler

if TYPE_CHECKING:
    from collections.abc import Generator

    from agentlightning_runtime.engine.observation.device_clock import DeviceClock

Phase = Literal["forward", "backward", "optimizer", "sync", "publish", "checkpoint"]
"""What the engine does within an operation. `sync`: communication between ranks outside of forward and backward."""

_PHASES: tuple[Phase, ...] = ("forward", "backward", "optimizer", "sync", "publish", "checkpoint")


@dataclass
class _Step:
    """What a model did since its last optimizer step."""

    start_s: float
    busy_before_s: float
    own_s: float = 0.0
    phases: dict[Phase, float] = field(default_factory=dict[Phase, float])
    tokens: int = 0
    flops: float = 0.0


@dataclass
class _Running:
    model_id: str
    counted_until_s: float
    phases: list[tuple[Phase, Any, Any]] = field(default_factory=list[tuple[Phase, Any, Any]])


class Timeline:
    """Measures operations, one at a time, and their phases; sums them up for each optimizer step.

    Args:
        clock: Measures the work of the device.
        profiler: Gets the names of operations and phases.
    """

    def __init__(self, clock: DeviceClock, profiler: StepProfiler | None = None) -> None:
        self._clock = clock
        self._profiler = profiler or StepProfiler()
        self._steps: dict[str, _Step] = {}
        self._busy_s = 0.0
        self._running: _Running | None = None
        self._is_in_phase = False

    @contextmanager
    def operation(self, name: str, model_id: str) -> Generator[None]:
        """Measures an operation of a model."""
        start_s = self._clock.start()
        self._steps.setdefault(model_id, _Step(start_s, self._busy_s))
        running = self._running = _Running(model_id, start_s)
        try:
            with self._profiler.operation(f"{name} of {model_id}", ends_step=name == "optim_step"):
                yield
        finally:
            self._settle(running)
            self._running = None

    @contextmanager
    def phase(self, name: Phase) -> Generator[None]:
        """Measures a phase of the running operation; one within another belongs to the outer one."""
        if self._running is None or self._is_in_phase:
            yield
            return
        self._is_in_phase = True
        start = self._clock.mark()
        try:
            with self._profiler.phase(name):
                yield
        finally:
            self._is_in_phase = False
            self._running.phases.append((name, start, self._clock.mark()))

    def count(self, tokens: int, flops: float) -> None:
        """Adds the tokens and the floating-point operations of a gradient pass to the step of the running model."""
        if self._running is not None:
            step = self._steps[self._running.model_id]
            step.tokens += tokens
            step.flops += flops

    def finish_step(self, model_id: str, peak_flops: float | None) -> dict[str, float]:
        """The times of a model since its last step, in seconds, and its speed over that time; starts the next step.

        `time/other_seconds` is the part of its operations that is in no phase, `time/other_models_seconds` the
        operations of other models, `time/idle_seconds` the time without any operation.

        Args:
            model_id: The model, within its operation.
            peak_flops: Peak FLOP/s of the device; None when unknown.
        """
        if self._running is None:
            return {}
        now_s = self._settle(self._running)
        step = self._steps[model_id]
        self._steps[model_id] = _Step(now_s, self._busy_s)
        total_s = max(now_s - step.start_s, 1e-9)
        busy_s = self._busy_s - step.busy_before_s
        times = {f"time/{name}_seconds": step.phases.get(name, 0.0) for name in _PHASES}
        times["time/other_seconds"] = max(0.0, step.own_s - sum(step.phases.values()))
        times["time/other_models_seconds"] = max(0.0, busy_s - step.own_s)
        times["time/idle_seconds"] = max(0.0, total_s - busy_s)
        times["time/step_seconds"] = total_s
        if step.tokens > 0:
            times["step/tokens_per_second"] = step.tokens / total_s
        if peak_flops is not None and step.flops > 0:
            times["step/mfu"] = step.flops / total_s / peak_flops
        return times

    def forget(self, model_id: str) -> None:
        """Drops the sums of an unloaded model."""
        if self._running is None or self._running.model_id != model_id:
            self._steps.pop(model_id, None)

    def _settle(self, running: _Running) -> float:
        """Waits for the device and adds the running operation so far to the sums; the present."""
        now_s = self._clock.finish()
        step = self._steps[running.model_id]
        for name, start, end in running.phases:
            step.phases[name] = step.phases.get(name, 0.0) + self._clock.seconds(end) - self._clock.seconds(start)
        running.phases.clear()
        step.own_s += now_s - running.counted_until_s
        self._busy_s += now_s - running.counted_until_s
        running.counted_until_s = now_s
        return now_s
