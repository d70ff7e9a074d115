"""Records the operations of a model in the timeline of its engine."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from agentlightning_runtime.engine.memory.out_of_memory import free_cached_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentlightning_runtime.engine.model_parts import ModelParts

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Timed(Protocol):
    """A model with the components that its operations are recorded by."""

    parts: ModelParts


Model = TypeVar("Model", bound=Timed)


def timed(
    name: str, *, trains: bool = False
) -> Callable[[Callable[Concatenate[Model, Parameters], Result]], Callable[Concatenate[Model, Parameters], Result]]:
    """Records calls of a method as operations of this name.

    Args:
        name: Name of the operation.
        trains: Whether it needs the device for itself: a sampler on the same one is then put to sleep.
    """

    def decorate(
        method: Callable[Concatenate[Model, Parameters], Result],
    ) -> Callable[Concatenate[Model, Parameters], Result]:
        @wraps(method)
        def run(self: Model, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            parts = self.parts
            with parts.settings.timeline.operation(name, parts.request.model_id):
                if not trains:
                    return method(self, *args, **kwargs)
                # All ranks wait until rank 0 has the device for training.
                shares_memory = parts.ranks.agree(parts.inference.begin_training)
                try:
                    return method(self, *args, **kwargs)
                finally:
                    if shares_memory:
                        # Torch keeps the memory of activations, which the sampler needs when it wakes.
                        free_cached_memory(parts.settings.device)
                    parts.inference.end_training()

        return run

    return decorate
