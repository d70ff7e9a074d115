"""The components of a model of the torch engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentlightning_runtime.engine.publication.weight_export import export_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from torch import Tensor

    from agentlightning_runtime.contract.inference_backend import InferenceBackend, ServedModel
    from agentlightning_runtime.contract.results import ExportFormat
    from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
    from agentlightning_runtime.engine.base.ranks import Ranks
    from agentlightning_runtime.engine.checkpoints.checkpoint_folder import CheckpointFolder
    from agentlightning_runtime.engine.gradient_pass import PassSettings
    from agentlightning_runtime.engine.models.base_model import BaseModel
    from agentlightning_runtime.engine.models.initial_weights import InitialWeights
    from agentlightning_runtime.engine.models.policy_network import PolicyNetwork


@dataclass(frozen=True)
class ModelParts:
    """The components of a model.

    Attributes:
        lora: LoRA with all defaults filled in; None: all weights are trained.
        reference: The network with the initial weights, in memory from the first call on. All ranks must call it.
        eight_bit: Names of the trained weights whose moments are quantised.
        initial: The checkpoint that it begins with; None: the base.
        ranks: The processes that train it together.
    """

    request: ModelRequest
    base: BaseModel
    lora: LoraSettings | None
    network: PolicyNetwork
    eight_bit: Collection[str]
    reference: Callable[[], PolicyNetwork]
    initial: InitialWeights | None
    settings: PassSettings
    checkpoints: CheckpointFolder
    inference: InferenceBackend
    served: ServedModel
    ranks: Ranks

    def write(self, weights: Mapping[str, Tensor], export_format: ExportFormat, directory: Path) -> None:
        """Writes weights of the model into an empty folder.

        Args:
            weights: Unsharded, by their names in the network.
            export_format: `peft` requires a LoRA.
            directory: The folder.

        Raises:
            EngineError: INVALID when `peft` is requested for a model without LoRA.
        """
        base = self.base.outline()
        if self.lora is not None and export_format == "safetensors":
            base = self.base.load_on_host() if self.settings.is_sharded else self.base.load()
        source = self.base.source
        export_weights(base, weights, self.lora, export_format=export_format, base_source=source, directory=directory)
