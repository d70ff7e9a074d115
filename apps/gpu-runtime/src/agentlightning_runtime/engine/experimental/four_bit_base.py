"""A frozen base model in four bits: NF4 with double quantisation (QLoRA, Dettmers et al. 2023).

The linear layers are quantised, one after another on the device; embeddings, norms and the head keep their data type.

They are quantised here from the tensors of any source: `from_pretrained` with a `BitsAndBytesConfig` cannot read GGUF
files or random models, and would not share the base between models. Quantisation is a flag of the runtime and not of
the contract, since it describes the machine's memory. A base in four bits is replicated on every rank, as any base of
LoRAs. Nothing was run on a GPU.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from agentlightning_runtime.engine.experimental.bitsandbytes_package import bitsandbytes
from agentlightning_runtime.engine.loading.loaded_model import output_head

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.loading.weight_files import WeightSource


def load_four_bit(
    outline: PreTrainedModel, source: WeightSource, device: torch.device, dtype: torch.dtype
) -> PreTrainedModel:
    """The model with quantised linear layers on the device; at most one weight is in memory unquantised.

    Args:
        outline: The model with parameters on the meta device.
        source: Its weights by name.
        device: The device of the result.
        dtype: Data type of the other weights, and of the dequantised weights in a pass.
    """
    package, causal_lm = bitsandbytes(), copy.deepcopy(outline)
    quantised: set[str] = set()
    for name, layer in _quantisable(causal_lm).items():
        weight = f"{name}.weight"
        has_bias = any(leaf == "bias" for leaf, _ in layer.named_parameters())
        twin = package.nn.Linear4bit(
            layer.in_features, layer.out_features, bias=has_bias, quant_type="nf4", device="meta"
        )
        values = source.rows(weight, slice(None)).to(dtype)
        twin.weight = package.nn.Params4bit(values, requires_grad=False, quant_type="nf4", module=twin).to(device)
        # Otherwise a pass without gradients repacks the weight for bfloat16, in place, and training cannot read it.
        twin.support_avx512bf16_for_cpu = False
        parent, _, leaf = name.rpartition(".")
        setattr(causal_lm.get_submodule(parent), leaf, twin)
        quantised.add(weight)
    others = {
        name: source.rows(name, slice(None)).to(device, dtype)
        for name, _ in causal_lm.named_parameters()
        if name not in quantised
    }
    causal_lm.load_state_dict(others, strict=False, assign=True)
    causal_lm.tie_weights()
    nn.Module.to(causal_lm, device=device)
    # PEFT adapts quantised layers of such models only.
    setattr(causal_lm, "is_loaded_in_4bit", True)  # noqa: B010 -- not declared by the class
    return causal_lm.requires_grad_(requires_grad=False).eval()


def dequantised(weight: Tensor) -> Tensor:
    """The values of a weight, which may be quantised."""
    state: Any = getattr(weight, "quant_state", None)
    return weight if state is None else bitsandbytes().functional.dequantize_4bit(weight.data, state)


def _quantisable(causal_lm: PreTrainedModel) -> dict[str, nn.Linear]:
    head = output_head(causal_lm)
    modules = causal_lm.named_modules()
    return {name: module for name, module in modules if type(module) is nn.Linear and module is not head}
