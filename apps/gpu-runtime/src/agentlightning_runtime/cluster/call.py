"""Calls that the front process sends to rank 0, and the replies to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.contract.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentlightning_runtime.contract.results import Endpoint, ModelState


@dataclass(frozen=True, slots=True)
class Call:
    """A method call of a model, or of the engine.

    Attributes:
        method: Name of the method in `engine/contract.py`.
        model_id: The model; empty for a method of the engine.
    """

    method: str
    model_id: str = ""
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a call.

    Attributes:
        result: What the method returned.
        failure: Why it failed; None after a success.
        state: State of the model after the call; None when it is unknown.
        endpoint: Endpoint of the model after the call; None when it is unknown.
        gauges: Gauges of rank 0 after the call.
    """

    result: Any = None
    failure: Failure | None = None
    state: ModelState | None = None
    endpoint: Endpoint | None = None
    gauges: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as data: other processes cannot unpickle every exception.

    Attributes:
        message: Text of the exception.
        fields: Arguments of an `EngineError`; None for an internal error.
    """

    message: str
    fields: Mapping[str, Any] | None = None

    @staticmethod
    def of(error: Exception) -> Failure:
        """The failure of an exception."""
        fields = dict(vars(error)) if isinstance(error, EngineError) else None
        return Failure(f"{type(error).__name__}: {error}", fields)

    def error(self) -> Exception:
        """The exception to raise."""
        return RuntimeError(self.message) if self.fields is None else EngineError(**self.fields)
