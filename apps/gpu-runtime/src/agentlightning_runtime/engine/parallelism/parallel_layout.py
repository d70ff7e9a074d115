"""The parts of the ranks in a model and its batches, from the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentlightning_runtime.engine.experimental.sequence_parallelism import (
    SequenceParallelism,
    join_sequence_parallelism,
)

if TYPE_CHECKING:
    import torch

    from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings
    from agentlightning_runtime.engine.experimental.tensor_parallelism import TensorParallelism
    from agentlightning_runtime.engine.ranks import Ranks


@dataclass(frozen=True)
class ParallelLayout:
    """The parts of the ranks; at most one of tensor and sequence parallelism.

    Attributes:
        ranks: All of them.
        tensor: Those that share the base of a LoRA.
        sequence: Those that share the tokens of a micro-batch.
    """

    ranks: Ranks
    tensor: TensorParallelism | None
    sequence: SequenceParallelism | None

    def data(self, lora: LoraSettings | None) -> Ranks:
        """The ranks that divide the batches of a model."""
        if self.sequence is not None:
            return self.sequence.data
        return self.ranks if lora is None or self.tensor is None else self.tensor.data


def join_layout(settings: EngineSettings, ranks: Ranks, device: torch.device) -> ParallelLayout:
    """Joins the groups of the settings. All ranks must call this."""
    tensor = sequence = None
    if settings.tensor_parallel > 1:
        # Needs a newer Transformers than the rest.
        from agentlightning_runtime.engine.experimental.tensor_parallelism import join_tensor_parallelism

        tensor = join_tensor_parallelism(ranks, settings.tensor_parallel, device)
    if settings.sequence_parallel > 1:
        sequence = join_sequence_parallelism(ranks, settings.sequence_parallel, device)
    return ParallelLayout(ranks, tensor, sequence)
