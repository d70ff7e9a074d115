"""Changes of the runtime that are measured and not shipped: each is applied to a model for one measurement."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal

import torch
from transformers import AttentionInterface

from agentlightning_runtime.engine.loss import tiled_head
from agentlightning_runtime.engine.models.packed_attention import PACKED_ATTENTION, packed_attention

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from agentlightning_runtime.engine.torch_model import TorchModel

Candidate = Literal["compiled-head", "compiled-layers"]
"""Names of the changes: `torch.compile` of the elementwise work of the output layer, and of each layer."""


@contextlib.contextmanager
def candidates_of(model: TorchModel, names: Sequence[Candidate]) -> Generator[None]:
    """Applies candidates to a model, and undoes what they change outside of it."""
    with contextlib.ExitStack() as undo:
        for name in names:
            _APPLY[name](model.parts.network, undo)
        yield


def _compile_head(_network: Any, undo: contextlib.ExitStack) -> None:
    for name in ("_folded", "_slope"):
        plain = getattr(tiled_head, name)
        undo.callback(setattr, tiled_head, name, plain)
        setattr(tiled_head, name, torch.compile(plain, dynamic=True))


def _compile_layers(network: Any, undo: contextlib.ExitStack) -> None:
    AttentionInterface.register(PACKED_ATTENTION, torch.compiler.disable(packed_attention))
    undo.callback(AttentionInterface.register, PACKED_ATTENTION, packed_attention)
    for layer in network.causal_lm.get_decoder().layers:
        layer.compile(dynamic=True)


_APPLY: dict[Candidate, Callable[[Any, contextlib.ExitStack], None]] = {
    "compiled-head": _compile_head,
    "compiled-layers": _compile_layers,
}
