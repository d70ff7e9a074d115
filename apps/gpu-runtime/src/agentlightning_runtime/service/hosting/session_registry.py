"""The connected clients."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.users import current_user
from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError

if TYPE_CHECKING:
    from agentlightning_runtime.service.base.clock import Clock


@dataclass(slots=True)
class _Session:
    id: str
    user: str
    client_key: str
    last_seen_ms: float


class SessionRegistry:
    """Sessions of all users by id. A session expires without heartbeats."""

    def __init__(self, clock: Clock, ttl_ms: float) -> None:
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._sessions: dict[str, _Session] = {}

    def open(self, client_key: str) -> str:
        """Opens a session, or returns the active one of the same client key."""
        self._remove_expired()
        now, user = self._clock(), current_user.get()
        for session in self._sessions.values():
            if (session.user, session.client_key) == (user, client_key):
                session.last_seen_ms = now
                return session.id
        session = _Session(id=str(uuid.uuid4()), user=user, client_key=client_key, last_seen_ms=now)
        self._sessions[session.id] = session
        return session.id

    def touch(self, session_id: str) -> None:
        """Records activity.

        Raises:
            RuntimeFailureError: SESSION_EXPIRED when the session does not exist (any more).
        """
        self._remove_expired()
        session = self._sessions.get(session_id)
        if session is None or session.user != current_user.get():
            raise RuntimeFailureError(
                error_pb2.ERROR_REASON_SESSION_EXPIRED,
                f'Session "{session_id}" is unknown: it expired, was closed, or the runtime was restarted',
                remedy="Open a new session; after a restart of the runtime create models again and load a checkpoint.",
            )
        session.last_seen_ms = self._clock()

    def lives_until_ms(self, session_id: str) -> float | None:
        """Expiry of a session without further heartbeats, in Unix milliseconds; None when it has ended."""
        session = self._sessions.get(session_id)
        return None if session is None else session.last_seen_ms + self._ttl_ms

    def close(self, session_id: str) -> None:
        """Ends a session, if the current user has it."""
        session = self._sessions.get(session_id)
        if session is not None and session.user == current_user.get():
            del self._sessions[session_id]

    def _remove_expired(self) -> None:
        oldest = self._clock() - self._ttl_ms
        for session in list(self._sessions.values()):
            if session.last_seen_ms < oldest:
                del self._sessions[session.id]
