"""The time of operations, summed up for each step, and the profile of a step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
import torch
from tests.engine.a_batch import a_batch, a_loss, an_engine, no_progress

from agentlightning_runtime.contract.batch import AdamParameters
from agentlightning_runtime.contract.settings import ModelRequest
from agentlightning_runtime.engine.observation.device_clock import CudaClock
from agentlightning_runtime.engine.observation.step_profiler import StepProfiler
from agentlightning_runtime.engine.observation.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class ScriptedClock:
    """A device whose work lasts as long as the test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def start(self) -> float:
        return self.now_s

    def mark(self) -> float:
        return self.now_s

    def finish(self) -> float:
        return self.now_s

    def seconds(self, mark: float) -> float:
        return mark


def a_step(timeline: Timeline, clock: ScriptedClock, model_id: str) -> dict[str, float]:
    """1 s before the first phase, 2 s forward, 4 s backward; after 8 s without operation 16 s in the optimizer."""
    with timeline.operation("forward_backward", model_id):
        clock.now_s += 1
        with timeline.phase("forward"):
            clock.now_s += 2
        with timeline.phase("backward"):
            clock.now_s += 4
        timeline.count(tokens=310, flops=31e9)
    clock.now_s += 8
    with timeline.operation("optim_step", model_id):
        with timeline.phase("optimizer"):
            clock.now_s += 16
        return timeline.finish_step(model_id, peak_flops=1e10)


def test_the_time_of_a_step_is_divided_into_phases_and_idle_time() -> None:
    clock = ScriptedClock()
    timeline = Timeline(clock)
    times = a_step(timeline, clock, "m")
    assert times == {
        "time/forward_seconds": 2.0,
        "time/backward_seconds": 4.0,
        "time/optimizer_seconds": 16.0,
        "time/sync_seconds": 0.0,
        "time/publish_seconds": 0.0,
        "time/checkpoint_seconds": 0.0,
        "time/other_seconds": 1.0,
        "time/other_models_seconds": 0.0,
        "time/idle_seconds": 8.0,
        "time/step_seconds": 31.0,
        "step/tokens_per_second": 10.0,
        "step/mfu": 0.1,
    }


def test_the_operations_of_another_model_are_not_idle_time() -> None:
    clock = ScriptedClock()
    timeline = Timeline(clock)
    a_step(timeline, clock, "one")
    with timeline.operation("forward", "two"), timeline.phase("forward"):
        clock.now_s += 5
    clock.now_s += 3
    times = a_step(timeline, clock, "one")
    assert times["time/other_models_seconds"] == 5
    assert times["time/idle_seconds"] == 11
    assert times["time/forward_seconds"] == 2
    parts = sum(value for name, value in times.items() if name.startswith("time/") and "step" not in name)
    assert times["time/step_seconds"] == parts


def test_a_phase_within_a_phase_belongs_to_the_outer_one() -> None:
    clock = ScriptedClock()
    timeline = Timeline(clock)
    with timeline.operation("publish_weights", "m"):
        with timeline.phase("publish"), timeline.phase("forward"):
            clock.now_s += 3
        times = timeline.finish_step("m", peak_flops=None)
    assert times["time/publish_seconds"] == 3
    assert times["time/forward_seconds"] == 0


def test_a_failed_operation_counts() -> None:
    clock = ScriptedClock()
    timeline = Timeline(clock)

    def fail() -> None:
        with timeline.operation("forward", "m"), timeline.phase("forward"):
            clock.now_s += 1
            raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            fail()
    with timeline.operation("optim_step", "m"):
        assert timeline.finish_step("m", peak_flops=None)["time/forward_seconds"] == 2


def test_a_step_of_the_engine_reports_its_phases(tmp_path: Path) -> None:
    engine = an_engine(tmp_path)
    model = engine.create_model(ModelRequest("m", "tiny", 1))

    def step() -> Mapping[str, float]:
        model.forward_backward(a_batch(), a_loss(), no_progress)
        metrics = model.optim_step(AdamParameters(learning_rate=0.01)).metrics
        model.publish_weights()
        return metrics

    step()
    metrics = step()
    for name in ("forward", "backward", "optimizer", "publish"):
        assert metrics[f"time/{name}_seconds"] > 0
    parts = sum(value for name, value in metrics.items() if name.startswith("time/") and "step" not in name)
    assert metrics["time/step_seconds"] == pytest.approx(parts)
    assert metrics["step/tokens_per_second"] > 0
    assert metrics["memory/peak_bytes"] >= metrics["memory/used_bytes"] > 2**20


def test_the_next_step_is_profiled_on_request(tmp_path: Path) -> None:
    engine = an_engine(tmp_path)
    model = engine.create_model(ModelRequest("m", "tiny", 1))

    def step() -> None:
        model.forward_backward(a_batch(), a_loss(), no_progress)
        model.optim_step(AdamParameters(learning_rate=0.01))

    step()
    folder = tmp_path / "traces"
    for _ in range(2):
        engine.trace_next_step(folder)
        step()
    # Nothing was requested any more.
    step()
    model.publish_weights()
    files = sorted(folder.iterdir())
    assert len(files) == 2
    for file in files:
        names = [event.get("name") for event in json.loads(file.read_text())["traceEvents"]]
        assert {"forward_backward of m", "forward", "backward", "optim_step of m", "aten::mm"} <= set(names)
        assert "publish_weights of m" not in names


def test_a_folder_that_cannot_be_written_ends_no_step(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    profiler, file = StepProfiler(), tmp_path / "file"
    file.touch()
    profiler.request(file)
    with profiler.operation("optim_step of m", ends_step=True):
        pass
    assert "No trace was written" in caplog.text
    profiler.request(tmp_path / "folder")
    with profiler.operation("optim_step of m", ends_step=True):
        pass
    assert len(list((tmp_path / "folder").iterdir())) == 1


class _Event:
    """An event that completes when the device comes to it: 1 s of work after the one before."""

    recorded = 0

    def __init__(self, **_options: Any) -> None:
        self.at_s = 0

    def record(self, _stream: object) -> None:
        _Event.recorded += 1
        self.at_s = _Event.recorded

    def elapsed_time(self, later: _Event) -> float:
        return 1000.0 * (later.at_s - self.at_s)


def test_work_of_a_gpu_is_measured_by_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Mock()
    # The work of other streams, those of a sampler and of checkpoints, is not waited for.
    device = Mock(side_effect=AssertionError("the whole device is waited for"))
    monkeypatch.setattr(torch.cuda, "Event", _Event)
    monkeypatch.setattr(torch.cuda, "synchronize", device)
    monkeypatch.setattr(torch.cuda, "current_stream", Mock(return_value=stream))
    timeline = Timeline(CudaClock(torch.device("cuda", 0)))
    with timeline.operation("forward_backward", "m"):
        for _ in range(3):
            with timeline.phase("forward"):
                pass
        # Only at the start: phases do not wait for the device.
        assert stream.synchronize.call_count == 1
        times = timeline.finish_step("m", peak_flops=None)
        assert stream.synchronize.call_count == 2
    assert times["time/forward_seconds"] == pytest.approx(3)
