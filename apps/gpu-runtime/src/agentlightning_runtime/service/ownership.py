"""Which session a model belongs to, and since when it belongs to none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.failure import RuntimeFailureError

if TYPE_CHECKING:
    from collections.abc import Callable


class Ownership:
    """The session that may change a model; another one takes it over by asking for the model.

    Args:
        model_id: The model's id.
        now_ms: When it was made, in Unix milliseconds.
    """

    def __init__(self, model_id: str, now_ms: float) -> None:
        self._model_id = model_id
        self._session_id = ""
        self._owned_until_ms = now_ms

    def take(self, session_id: str) -> bool:
        """Gives the model to a session; whether it was another's before."""
        is_new = self._session_id != session_id
        self._session_id = session_id
        return is_new

    def assert_is(self, session_id: str) -> None:
        """Raises SESSION_SUPERSEDED when another session owns the model."""
        if self._session_id == session_id:
            return
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_SESSION_SUPERSEDED,
            f'Session "{session_id}" does not own model "{self._model_id}"',
            remedy="Call CreateModel with this session first; a newer session takes the model over.",
        )

    def abandoned_for_ms(self, now_ms: float, lives_until_ms: Callable[[str], float | None]) -> float:
        """For how long no session has owned the model; negative while one does.

        Ask before sessions can lapse: of one that has ended is known only until when it lived when this was last asked.

        Args:
            now_ms: In Unix milliseconds.
            lives_until_ms: Until when a session lives if nothing more is heard of it; None when it has ended.
        """
        lives_until = lives_until_ms(self._session_id)
        if lives_until is not None:
            self._owned_until_ms = lives_until
        elif self._owned_until_ms > now_ms:
            # It was closed before its time.
            self._owned_until_ms = now_ms
        return now_ms - self._owned_until_ms
