"""Records the operations of a model in the timeline of its engine."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentlightning_runtime.engine.models.model_parts import ModelParts

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Timed(Protocol):
    """A model with the components that its operations are recorded by."""

    parts: ModelParts


Model = TypeVar("Model", bound=Timed)


def timed(
    name: str,
) -> Callable[[Callable[Concatenate[Model, Parameters], Result]], Callable[Concatenate[Model, Parameters], Result]]:
    """Records calls of a method as operations of this name."""

    def decorate(
        method: Callable[Concatenate[Model, Parameters], Result],
    ) -> Callable[Concatenate[Model, Parameters], Result]:
        @wraps(method)
        def run(self: Model, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            with self.parts.settings.timeline.operation(name, self.parts.request.model_id):
                return method(self, *args, **kwargs)

        return run

    return decorate
