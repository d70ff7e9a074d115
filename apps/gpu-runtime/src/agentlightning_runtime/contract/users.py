"""The users of a runtime: their models, sessions, metrics and checkpoints are separate."""

from __future__ import annotations

import hmac
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEPARATOR = "."
"""Between user and model in the ids of the engine; ids of clients do not contain it."""

current_user: ContextVar[str] = ContextVar("current_user", default="")
"""The user of the running call; empty where all clients share one key, or calls are not authenticated."""


def scoped_id(model_id: str) -> str:
    """The id of the current user's model in the engine."""
    user = current_user.get()
    return f"{user}{_SEPARATOR}{model_id}" if user else model_id


def is_own(name: str) -> bool:
    """Whether a model or a checkpoint is the current user's.

    Args:
        name: The model's id in the engine, or the URI of the checkpoint, which begins with it.
    """
    user = current_user.get()
    return not user or name.startswith(f"{user}{_SEPARATOR}")


class Keys:
    """Finds the user of a call by its `authorization` header.

    Args:
        api_key: Sent by clients as `Bearer ...`; without it and users, calls are not authenticated.
        users: Instead of one key, a key for each user by name.
    """

    def __init__(self, api_key: str = "", users: Mapping[str, str] | None = None) -> None:
        keys = {"": api_key} if api_key else dict(users or {})
        self._expected = {user: f"Bearer {key}".encode() for user, key in keys.items()}

    def identify(self, authorization: bytes) -> bool:
        """Sets the user of the call; returns False when the key is missing or wrong."""
        if not self._expected:
            return True
        # All are compared, so that the time does not depend on the position of the key.
        found = [user for user, key in self._expected.items() if hmac.compare_digest(authorization, key)]
        if found:
            current_user.set(found[0])
        return bool(found)
