"""The users of a runtime: their models, sessions, metrics and checkpoints are separate."""

from __future__ import annotations

from contextvars import ContextVar

_SEPARATOR = "."
"""Between user and model in the ids of the engine; ids of clients do not contain it."""

current_user: ContextVar[str] = ContextVar("current_user", default="")
"""The user of the running call; empty where all clients share one key, or calls are not authenticated."""


def scoped_id(model_id: str) -> str:
    """The id of the current user's model in the engine."""
    user = current_user.get()
    return f"{user}{_SEPARATOR}{model_id}" if user else model_id


def is_own_checkpoint(uri: str) -> bool:
    """Whether a checkpoint is of a model of the current user. URIs begin with the model's id in the engine."""
    user = current_user.get()
    return not user or uri.startswith(f"{user}{_SEPARATOR}")
