"""The components of a model of the torch engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentlightning_runtime.engine.checkpoint_folder import CheckpointFolder
    from agentlightning_runtime.engine.gradient_pass import PassSettings
    from agentlightning_runtime.engine.models.base_model import BaseModel
    from agentlightning_runtime.engine.models.policy_network import PolicyNetwork
    from agentlightning_runtime.engine.ranks import Ranks
    from agentlightning_runtime.engine.settings import LoraSettings, ModelRequest
    from agentlightning_runtime.inference.inference_backend import InferenceBackend, ServedModel


@dataclass(frozen=True)
class ModelParts:
    """The components of a model.

    Attributes:
        lora: LoRA with all defaults filled in; None: all weights are trained.
        reference: The network with the initial weights, in memory from the first call on. All ranks must call it.
        ranks: The processes that train it together.
    """

    request: ModelRequest
    base: BaseModel
    lora: LoraSettings | None
    network: PolicyNetwork
    reference: Callable[[], PolicyNetwork]
    settings: PassSettings
    checkpoints: CheckpointFolder
    inference: InferenceBackend
    served: ServedModel
    ranks: Ranks
