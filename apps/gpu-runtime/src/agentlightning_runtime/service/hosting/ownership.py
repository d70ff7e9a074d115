"""The session that owns a model, and the time since the last owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError

if TYPE_CHECKING:
    from collections.abc import Callable


class Ownership:
    """The session that may change a model; another takes over by requesting the model.

    Args:
        model_id: The model's id.
        now_ms: Creation time in Unix milliseconds.

    Attributes:
        session_id: The owner; empty before the first.
    """

    def __init__(self, model_id: str, now_ms: float) -> None:
        self._model_id = model_id
        self.session_id = ""
        self._owned_until_ms = now_ms

    def take(self, session_id: str) -> bool:
        """Assigns the model to a session; returns whether the owner changed."""
        is_new = self.session_id != session_id
        self.session_id = session_id
        return is_new

    def assert_is(self, session_id: str) -> None:
        """Raises SESSION_SUPERSEDED when another session owns the model."""
        if self.session_id == session_id:
            return
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_SESSION_SUPERSEDED,
            f'Session "{session_id}" does not own model "{self._model_id}"',
            remedy="Call CreateModel with this session first; a newer session takes over the model.",
        )

    def abandoned_for_ms(self, now_ms: float, lives_until_ms: Callable[[str], float | None]) -> float:
        """The time without an owner; negative while the model has one.

        Call it before sessions can expire: the expiry of an ended session is known only from the last call.

        Args:
            now_ms: In Unix milliseconds.
            lives_until_ms: Expiry of a session without further heartbeats; None when it has ended.
        """
        lives_until = lives_until_ms(self.session_id)
        if lives_until is not None:
            self._owned_until_ms = lives_until
        elif self._owned_until_ms > now_ms:
            # The session was closed before its expiry.
            self._owned_until_ms = now_ms
        return now_ms - self._owned_until_ms
