"""A backend without serving: for processes that only train."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.contract.results import Endpoint, InferenceState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.contract.inference_backend import ProbeResponse, ServedModel
    from agentlightning_runtime.contract.results import PauseMode


class NoInference:
    """Records the versions it receives. Implements `InferenceBackend`."""

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._paused: set[str] = set()

    def serve(self, model: ServedModel, version: int) -> None:
        """Records the version."""
        self._versions[model.model_id] = version

    def publish(self, model: ServedModel, version: int) -> None:
        """Records the version."""
        self._versions[model.model_id] = version

    def probe(self, model_id: str, prompts: Sequence[Sequence[int]], max_tokens: int) -> Sequence[ProbeResponse]:
        """Samples nothing."""
        return ()

    def endpoint(self, model_id: str) -> Endpoint:
        """An endpoint without an address."""
        return Endpoint("", model_id, self._versions[model_id])

    def pause(self, model_id: str, mode: PauseMode) -> InferenceState:
        """Records the pause."""
        self._paused.add(model_id)
        return self._state(model_id)

    def resume(self, model_id: str) -> InferenceState:
        """Clears the pause."""
        self._paused.discard(model_id)
        return self._state(model_id)

    def begin_training(self) -> bool:
        """Does nothing: the memory is not shared with a server."""
        return False

    def end_training(self) -> None:
        """Does nothing."""

    def remove(self, model_id: str) -> None:
        """Removes the model."""
        self._versions.pop(model_id, None)

    def close(self) -> None:
        """Does nothing."""

    def _state(self, model_id: str) -> InferenceState:
        return InferenceState(model_id in self._paused, 0, self._versions[model_id])
