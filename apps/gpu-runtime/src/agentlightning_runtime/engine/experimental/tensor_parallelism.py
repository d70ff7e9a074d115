"""Tensor parallelism of the base of LoRAs: each rank has some of the heads and hidden units of every layer.

Transformers shards the layers by the plan of the architecture, PEFT the adapters like their layers. Embeddings, norms
and the head are replicated, so hidden states and scores are the same on all ranks that share a base.

Only the rules of a plan for the layers are used, so the tiled head, the losses and the packing are unchanged. FSDP2
for frozen bases would gather every layer in each micro-batch, which is more communication than two sums of
activations. `replicated_with_grad_allreduce` would sum accumulated gradients several times; adapters do not need it,
since norms are frozen. Ranks of a group wait for each other within layers, where they do not vote about memory:
exhaustion ends the process. The sizes that PEFT 0.21 declares for adapters are corrected to those that Transformers
5.23 expects; a newer version of either may make this unnecessary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import torch
from peft import inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from transformers.distributed.configuration_utils import DistributedConfig
from transformers.distributed.tensor_parallel import apply_tensor_parallelism

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.models.empty_model import own_region
from agentlightning_runtime.engine.parallelism.rank_groups import join_groups

if TYPE_CHECKING:
    from peft import LoraConfig
    from torch.distributed.device_mesh import DeviceMesh
    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.ranks import Ranks

#: Styles of Transformers' plans that are compatible with adapters and replicated hidden states. The last is of norms.
_STYLES = frozenset(("colwise", "rowwise", "replicated_with_grad_allreduce"))


@dataclass(frozen=True)
class TensorParallelism:
    """The ranks that share a base, and the ranks with the same part of different bases.

    Attributes:
        mesh: The ranks that share a base with this one.
        data: The ranks with the same part: each trains on its share of a batch.
    """

    mesh: DeviceMesh
    data: Ranks

    @property
    def size(self) -> int:
        """Number of ranks that share a base."""
        return self.mesh.size()

    def shard(self, causal_lm: PreTrainedModel) -> None:
        """Shards a model on the meta device, in place.

        Raises:
            EngineError: INVALID when the architecture has no plan for it, or its heads cannot be divided.
        """
        plan = causal_lm.tp_plan = sharding_plan(causal_lm, self.size)
        expanded: dict[str, str] = {}
        for name, module in causal_lm.named_modules():
            style = plan.get(re.sub(r"\.\d+(?=\.|$)", ".*", name))
            if style is not None:
                # The weights to shard, then the module to hook.
                expanded |= {f"{name}.{leaf}": style for leaf, _ in module.named_parameters(recurse=False)}
                expanded[name] = style
        apply_tensor_parallelism(causal_lm, self.mesh, expanded)

    def add_adapters(self, sharded: PreTrainedModel, initial: PreTrainedModel, config: LoraConfig, name: str) -> None:
        """Adds the adapters of a LoRA to a sharded model, each rank its part.

        Args:
            sharded: The base; changed.
            initial: A model that one process would train, whose adapters have their initial values.
            config: The configuration of the LoRA.
            name: Its name.
        """
        # Where PEFT looks for the plan.
        vars(sharded.config)["distributed_config"] = DistributedConfig(tp_size=self.size)
        vars(sharded)["_device_mesh"] = self.mesh
        inject_adapter_in_model(config, sharded, name)
        del vars(sharded)["_device_mesh"], vars(sharded.config)["distributed_config"]
        for layer in sharded.modules():
            if isinstance(layer, LoraLayer):
                # PEFT 0.21 declares the sizes of this rank's part, Transformers 5.23 reads those of the whole weight.
                linear = cast("Any", layer.get_base_layer())
                cast("Any", layer.lora_A[name]).in_features = linear.in_features
                cast("Any", layer.lora_B[name]).out_features = linear.out_features
        values = dict(initial.named_parameters())
        with torch.no_grad():
            for weight_name, weight in sharded.named_parameters():
                if weight.requires_grad:
                    own, region = own_region(weight)
                    own.copy_(values[weight_name][region])


def sharding_plan(causal_lm: PreTrainedModel, size: int) -> dict[str, str]:
    """Transformers' plan for the layers of a model: the style of each module, with * for the number of a layer.

    Raises:
        EngineError: INVALID when the architecture has none, or its heads cannot be divided.
    """
    plan = {name: style for name, style in (causal_lm.tp_plan or {}).items() if ".layers." in name}
    if not plan or not _STYLES.issuperset(plan.values()):
        kind = type(causal_lm).__name__
        raise _unsupported(f"Transformers has no plan of tensor parallelism that suits LoRAs of {kind}")
    heads = int(getattr(causal_lm.config, "num_attention_heads", 0) or 0)
    key_heads = int(getattr(causal_lm.config, "num_key_value_heads", 0) or heads)
    if heads % size != 0 or key_heads % size != 0:
        raise _unsupported(f"{heads} heads and {key_heads} key heads cannot be divided by {size} ranks")
    # Norms of heads are frozen, so they have no gradients to sum.
    return {name: style for name, style in plan.items() if style != "replicated_with_grad_allreduce"}


def join_tensor_parallelism(ranks: Ranks, size: int, device: torch.device) -> TensorParallelism:
    """Divides the ranks into groups of a size that share a base. All ranks must call this."""
    mesh, data = join_groups(ranks, size, device, "tp")
    return TensorParallelism(mesh, replace(data, tensor_parallel=size))


def _unsupported(message: str) -> EngineError:
    remedy = "Start without --tensor-parallel-size, or with --load-in-4bit instead"
    return EngineError(EngineErrorReason.INVALID, message, field="base_model", remedy=remedy)
