"""The checkpoint of another model that a model begins with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.checkpoints.checkpoint_folder import CheckpointFolder
from agentlightning_runtime.engine.checkpoints.checkpoint_tensors import WEIGHTS_PREFIX, prefixed
from agentlightning_runtime.engine.models.network_factory import trained_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from torch import nn

    from agentlightning_runtime.engine.base.ranks import Ranks
    from agentlightning_runtime.engine.models.policy_network import PolicyNetwork

_MODEL_ID = re.compile(r"[A-Za-z0-9_-]{1,255}(\.[A-Za-z0-9_-]{1,255})?")


class InitialWeights:
    """Reads a checkpoint's weights into a new model, and into its reference on first use. All ranks must call it.

    Args:
        uri: URI of a checkpoint of any model of the runtime.
        root: Parent of the folder of each model.
        ranks: The processes that train the model together.
        make_reference: Creates a network of the model's shape without a value head.

    Raises:
        EngineError: NOT_FOUND when the checkpoint does not exist.
    """

    def __init__(self, uri: str, root: Path, ranks: Ranks, make_reference: Callable[[], PolicyNetwork]) -> None:
        model_id = uri.partition("/")[0]
        if not _MODEL_ID.fullmatch(model_id):
            raise EngineError(EngineErrorReason.NOT_FOUND, f'Unknown checkpoint "{uri}"', field="initial_checkpoint")
        self._uri = uri
        self._folder = CheckpointFolder(root, model_id, ranks)
        self._facts = self._folder.find(uri)[1]
        self._make_reference = make_reference
        self._reference: PolicyNetwork | None = None

    def load(self, weights: Mapping[str, nn.Parameter], shape: Mapping[str, Any]) -> None:
        """Reads the weights, of sharded ones this rank's shard.

        Args:
            weights: Trained weights by name; changed in place.
            shape: Base model, LoRA and value head of the model, which must be those of the checkpoint.

        Raises:
            EngineError: INVALID when the checkpoint is of another base or shape.
        """
        if self._facts.shape != shape:
            message = f'Checkpoint "{self._uri}" has the shape {self._facts.shape}; the model to create has {shape}'
            remedy = "Create the model with the base model, LoRA and value head of the checkpoint"
            raise EngineError(EngineErrorReason.INVALID, message, field="initial_checkpoint", remedy=remedy)
        detached = {name: weight.detach() for name, weight in weights.items()}
        self._folder.load(self._uri, prefixed(WEIGHTS_PREFIX, detached))

    def reference(self) -> PolicyNetwork:
        """A frozen network with these weights; made on first use.

        Raises:
            EngineError: NOT_FOUND when the checkpoint was deleted since.
        """
        if self._reference is None:
            network = self._make_reference()
            self.load(trained_weights(network), self._facts.shape)
            network.requires_grad_(requires_grad=False)
            self._reference = network
        return self._reference
