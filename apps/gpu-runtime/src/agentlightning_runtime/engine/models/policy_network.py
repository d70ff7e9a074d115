"""A causal language model that scores tokens, with an optional value head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from agentlightning_runtime.engine.base.mixed_precision import MixedPrecision
from agentlightning_runtime.engine.loading.loaded_model import output_head, towers
from agentlightning_runtime.engine.loss.logit_rule import LogitRule
from agentlightning_runtime.engine.loss.token_scores import Scores, score_tokens
from agentlightning_runtime.engine.models.packed_attention import use_packed_attention
from agentlightning_runtime.engine.models.varlen_attention import RowPlan
from agentlightning_runtime.engine.vision.image_features import decoder_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from transformers import PreTrainedModel

    from agentlightning_runtime.engine.base.packing import Segment
    from agentlightning_runtime.engine.vision.image_features import RowImages


class PolicyNetwork(nn.Module):
    """Log-probabilities, entropies and values of selected tokens.

    Args:
        causal_lm: The model, including LoRA layers.
        output_size: Number of leading token ids that it can generate.
        compute_dtype: Data type of matrix products while the weights stay in float32; None: that of the weights.
        has_value_head: Adds a linear layer from the last hidden state to one number, initialised to zero.
        is_sharded: Its weights are sharded over several processes.

    Attributes:
        precision: Its mixed precision, with `compute_dtype`.
        is_packable: Whether it can compute several sequences in one row.
    """

    def __init__(
        self,
        causal_lm: PreTrainedModel,
        *,
        output_size: int,
        compute_dtype: torch.dtype | None,
        has_value_head: bool,
        is_sharded: bool = False,
    ) -> None:
        super().__init__()
        self.causal_lm = causal_lm
        self.is_packable = use_packed_attention(causal_lm)
        self._rule = LogitRule.of(causal_lm.config.get_text_config(), output_size)
        self.precision = MixedPrecision(compute_dtype)
        self.value_head = _value_head(causal_lm) if has_value_head else None
        self._towers = towers(causal_lm) if is_sharded else ()
        self.reset_value_head()

    def forward(
        self,
        token_ids: Tensor,
        positions: Tensor | None,
        selected: Tensor,
        targets: Tensor,
        temperatures: Tensor,
        *,
        segments: Sequence[Segment] | None = None,
        images: RowImages | None = None,
        trains_entropy: bool = True,
    ) -> Scores:
        """Scores of the targets, each predicted at its index `selected` in the flattened `token_ids`.

        With `segments`, which requires `is_packable`, `token_ids` is a packed row; `images` are those of its tokens.
        Gradients flow through the
        entropies only if `trains_entropy`.

        Returns:
            Log-probabilities, entropies, and values when there is a value head; each [tokens].
        """
        packing = {} if segments is None else {"plan": RowPlan(segments, token_ids.device)}
        with self.precision.autocast(token_ids.device):
            given = {"input_ids": token_ids} if images is None else decoder_inputs(self.causal_lm, token_ids, images)
            hidden = self._hidden({**given, **packing}, positions, selected)
        return self._scores(hidden, targets, temperatures, trains_entropy=trains_entropy)

    def _hidden(self, inputs: Mapping[str, object], positions: Tensor | None, selected: Tensor) -> Tensor:
        output = self.causal_lm.get_decoder()(position_ids=positions, use_cache=False, **inputs)
        states: Tensor = output.last_hidden_state
        return self._with_towers(states.flatten(0, 1).index_select(0, selected))

    def _with_towers(self, hidden: Tensor) -> Tensor:
        """The same values. Each weight of a tower gets a gradient, 0 without images: processes sum the same ones."""
        modules = [self.causal_lm.get_submodule(name) for name in self._towers]
        weights = [weight for module in modules for weight in module.parameters() if weight.requires_grad]
        if weights and torch.is_grad_enabled():
            nothing = torch.stack([weight.sum() for weight in weights]).sum() * 0
            hidden = hidden + nothing.to(hidden.dtype)
        return hidden

    def _scores(self, hidden: Tensor, targets: Tensor, temperatures: Tensor, *, trains_entropy: bool) -> Scores:
        with self.precision.autocast(hidden.device):
            head = output_head(self.causal_lm)
            logprobs, entropies = score_tokens(
                head, self._rule, hidden, targets, temperatures, trains_entropy=trains_entropy
            )
        if self.value_head is None:
            return logprobs, entropies, None
        return logprobs, entropies, self.value_head(hidden.to(self.value_head.weight.dtype)).squeeze(-1)

    @torch.no_grad()
    def reset_value_head(self) -> None:
        """Initialises the value head, if any."""
        if self.value_head is not None:
            for weight in self.value_head.parameters():
                weight.zero_()


def _value_head(causal_lm: PreTrainedModel) -> nn.Linear:
    width = output_head(causal_lm).weight.shape[1]
    return nn.Linear(width, 1, device=causal_lm.device, dtype=torch.float32)
