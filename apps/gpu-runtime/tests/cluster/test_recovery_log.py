"""The calls that restore a model after a failure of its workers."""

from __future__ import annotations

import pytest

from agentlightning_runtime.cluster.call import Call, Failure, Reply
from agentlightning_runtime.cluster.recovery_log import RecoveryLog
from agentlightning_runtime.contract.results import Checkpoint, ModelState

FAILED = Reply(failure=Failure("RuntimeError: no"))


def a_log() -> RecoveryLog:
    log = RecoveryLog()
    log.finished(1, Call("create_model", "m"), Reply())
    return log


def do(log: RecoveryLog, *methods: str, start: int = 2, version: int = 0) -> None:
    for number, method in enumerate(methods, start):
        log.finished(number, Call(method, "m"), Reply(state=ModelState(step=0, policy_version=version)))


def methods(log: RecoveryLog) -> list[str]:
    (history,) = log.histories()
    return [entry.call.method for entry in history.entries]


def a_checkpoint(policy_version: int = 0) -> Checkpoint:
    return Checkpoint("m/c", "c", 1, policy_version, 10, b"", 123.0)


def test_only_changes_are_repeated_in_order() -> None:
    log = a_log()
    do(log, "forward_backward", "forward", "optim_step", "export_weights", "publish_weights", "pause")
    assert methods(log) == ["forward_backward", "optim_step", "publish_weights"]


def test_a_checkpoint_replaces_the_calls_before_it_once_it_is_on_disk() -> None:
    log = a_log()
    do(log, "forward_backward", "optim_step", "save_checkpoint", "forward_backward")
    assert methods(log)[2] == "save_checkpoint"
    log.saved(4, a_checkpoint())
    (history,) = log.histories()
    assert history.base == a_checkpoint()
    assert methods(log) == ["forward_backward"]


def test_a_failed_save_is_not_repeated() -> None:
    log = a_log()
    do(log, "optim_step", "save_checkpoint")
    log.saved(3, None)
    assert methods(log) == ["optim_step"]
    assert log.histories()[0].base is None


def test_a_checkpoint_of_an_older_version_replaces_nothing() -> None:
    log = a_log()
    do(log, "publish_weights", version=2)
    do(log, "load_checkpoint", "save_checkpoint", start=3, version=1)
    log.saved(4, a_checkpoint(policy_version=1))
    assert methods(log) == ["publish_weights", "load_checkpoint"]


@pytest.mark.parametrize(
    ("method", "repeated"),
    [
        ("forward_backward", ["discard_gradients"]),
        ("optim_step", ["discard_gradients"]),
        ("publish_weights", ["publish_weights"]),
        ("load_checkpoint", []),
        ("save_checkpoint", []),
    ],
)
def test_a_failed_call_is_repeated_by_its_effect(method: str, repeated: list[str]) -> None:
    log = a_log()
    log.finished(2, Call(method, "m"), FAILED)
    assert methods(log) == repeated


def test_models_are_forgotten_when_they_are_unloaded_or_were_not_created() -> None:
    log = a_log()
    do(log, "optim_step", "unload")
    log.finished(9, Call("create_model", "n"), FAILED)
    log.finished(10, Call("optim_step", "n"), Reply())
    assert log.histories() == []


def test_a_lost_model_is_sound_again_with_a_checkpoint() -> None:
    log = a_log()
    do(log, "optim_step")
    log.lose()
    assert log.histories()[0].is_lost
    assert methods(log) == []
    do(log, "load_checkpoint", start=5)
    assert not log.histories()[0].is_lost
    assert methods(log) == ["load_checkpoint"]
