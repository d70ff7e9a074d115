"""The concurrent responses of one policy version."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agentlightning_runtime.contract.images import PreparedImage
from agentlightning_runtime.engine.vision.image_features import RowImages, decoder_inputs, row_images
from agentlightning_runtime.engine.vision.placed_images import PlacedImage, position_offset, spatial_positions
from agentlightning_runtime.inference.sampling.generation import Generation, ModelInput
from agentlightning_runtime.inference.sampling.key_value_cache import BatchCache
from agentlightning_runtime.inference.sampling.model_shape import ModelShape
from agentlightning_runtime.inference.sampling.sampling_rule import choose_tokens
from agentlightning_runtime.inference.sampling.served_weights import ServedWeights

_PREFILL_TOKENS = 16_384
"""Maximum tokens, padding included, of prompts in one prefill."""

_WORTH_MOVING = 0.75
"""Ended rows and unused columns stay in the cache until removing them leaves at most this share of it: the removal
copies all keys and values, which takes as long as several steps."""


class DecodingBatch:
    """A running batch: responses join after prefill and leave with their last token.

    Rows are right-aligned, so a step appends one column for all of them. The model gets a two-dimensional mask and
    positions, as from Transformers' own generation, so features such as sliding windows work.
    """

    def __init__(self, weights: ServedWeights, shape: ModelShape) -> None:
        module = weights.module
        self._module = module
        self._compute_dtype = weights.compute_dtype
        self._shape = shape
        self._rows: list[Generation] = []
        self._cache: BatchCache | None = None
        self._device = next(module.parameters()).device
        self._keeps_last = "logits_to_keep" in inspect.signature(_innermost(module).forward).parameters

    @property
    def size(self) -> int:
        """The number of running responses."""
        return len(self.generations)

    @property
    def generations(self) -> list[Generation]:
        """The running responses."""
        return [row for row in self._rows if not row.is_over]

    @property
    def cache(self) -> BatchCache | None:
        """The keys and values; None without responses."""
        return self._cache

    def join(self, newcomers: list[Generation]) -> None:
        """Prefills prompts, samples the first token of each response, and adds them to the batch.

        A prompt shared by several responses is prefilled once. Prompts of similar lengths are prefilled together. A
        response that was suspended continues after its tokens.
        """
        prompts = sorted({generation.input for generation in newcomers}, key=lambda one: (len(one.tokens), one.tokens))
        while prompts:
            width = len(prompts[-1].tokens)
            count = max(1, min(len(prompts), _PREFILL_TOKENS // width))
            group, prompts = prompts[-count:], prompts[:-count]
            wanted = set(group)
            self._prefill(group, [one for one in newcomers if one.input in wanted])

    def clear(self) -> None:
        """Removes all responses, and frees their keys and values."""
        self._rows, self._cache = [], None

    def step(self) -> None:
        """Samples the next token of every response."""
        self._drop_ended()
        if not self._rows or self._cache is None:
            return
        tokens = torch.tensor([[row.choices[-1].token] for row in self._rows], device=self._device)
        lengths = [row.length for row in self._rows]
        logits = self._forward(tokens, lengths, self._cache, [row.request.images for row in self._rows])
        running = [index for index, row in enumerate(self._rows) if not row.is_over]
        if len(running) < len(self._rows):
            logits = logits[torch.tensor(running, device=self._device)]
        self._choose(logits, [self._rows[index] for index in running])
        self._drop_ended()

    def _prefill(self, prompts: list[ModelInput], generations: list[Generation]) -> None:
        width = max(len(prompt.tokens) for prompt in prompts)
        padded = [[0] * (width - len(prompt.tokens)) + list(prompt.tokens) for prompt in prompts]
        cache = BatchCache(self._shape.layer_count)
        tokens = torch.tensor(padded, device=self._device)
        logits = self._forward(tokens, [len(each.tokens) for each in prompts], cache, [each.images for each in prompts])
        place = {prompt: index for index, prompt in enumerate(prompts)}
        rows = [place[generation.input] for generation in generations]
        read: set[int] = set()
        for generation, row in zip(generations, rows, strict=True):
            # The first response is charged for the prefill; the others reuse it.
            if not generation.choices:
                generation.cached_tokens = len(generation.request.prompt_tokens) if row in read else 0
            read.add(row)
        self._choose(logits[torch.tensor(rows, device=self._device)], generations)
        staying = [index for index, generation in enumerate(generations) if not generation.is_over]
        if not staying:
            return
        kept = [rows[index] for index in staying]
        if kept != list(range(len(prompts))):
            cache.select(kept, 0)
        self._take_in([generations[index] for index in staying], cache)

    def _take_in(self, generations: list[Generation], cache: BatchCache) -> None:
        if self._cache is None:
            self._cache = cache
        else:
            self._cache.join(cache)
        self._rows.extend(generations)

    def _forward(
        self, tokens: Tensor, lengths: list[int], cache: BatchCache, images: list[tuple[PlacedImage, ...]]
    ) -> Tensor:
        """Logits after the last token of each row, [rows, vocabulary]. `lengths` counts these tokens too."""
        columns = cache.get_seq_length() + tokens.shape[1]
        ends = torch.arange(columns, device=self._device)
        starts = torch.tensor([columns - length for length in lengths], device=self._device).unsqueeze(1)
        positions = (ends - starts).clamp(min=0)[:, -tokens.shape[1] :]
        is_prefill = cache.get_seq_length() == 0
        placed = row_images(_in_row_order(images, lengths, columns), self._device) if is_prefill else None
        if placed is not None:
            positions = _right_aligned(images, lengths, columns).to(self._device)
        elif any(images):
            positions = positions + torch.tensor([[position_offset(row)] for row in images], device=self._device)
        given = {
            "attention_mask": (ends >= starts).long(),
            "position_ids": positions,
            "past_key_values": cache,
            "use_cache": True,
        }
        with torch.autocast(self._device.type, self._compute_dtype, enabled=self._compute_dtype is not None):
            logits = self._logits(tokens, placed, given)
        return logits[:, -1, : self._shape.output_size]

    def _logits(self, tokens: Tensor, images: RowImages | None, given: dict[str, Any]) -> Tensor:
        if images is None:
            extra = {"logits_to_keep": 1} if self._keeps_last else {}
            return self._module(input_ids=tokens, **given, **extra).logits
        model: Any = self._module
        output = model.get_decoder()(**decoder_inputs(model, tokens, images), **given)
        return model.get_output_embeddings()(output.last_hidden_state[:, -1:])

    def _choose(self, logits: Tensor, generations: list[Generation]) -> None:
        rules = [generation.request.rule for generation in generations]
        uniforms = [generation.next_uniform() for generation in generations]
        forced = [generation.next_forced for generation in generations]
        choices = choose_tokens(logits, rules, uniforms, forced)
        for generation, choice in zip(generations, choices, strict=True):
            generation.add(choice, self._shape.max_context)

    def _drop_ended(self) -> None:
        for row in self._rows:
            row.fail_if_cancelled()
        staying = [index for index, row in enumerate(self._rows) if not row.is_over]
        if not staying or self._cache is None:
            self._rows, self._cache = [], None
            return
        # The last token was sampled but not fed yet: the cache is one column shorter than the sequence.
        longest = max(self._rows[index].length for index in staying) - 1
        columns = self._cache.get_seq_length()
        if len(staying) > _WORTH_MOVING * len(self._rows) and longest > _WORTH_MOVING * columns:
            return
        self._rows = [self._rows[index] for index in staying]
        self._cache.select(staying, columns - longest)


def _in_row_order(
    images: list[tuple[PlacedImage, ...]], lengths: list[int], columns: int
) -> list[tuple[int, PreparedImage]]:
    """The images of right-aligned rows, each with the index of its first token in the flattened rows."""
    return [
        ((row + 1) * columns - length + placed.start, placed.image)
        for row, (own, length) in enumerate(zip(images, lengths, strict=True))
        for placed in own
    ]


def _right_aligned(images: list[tuple[PlacedImage, ...]], lengths: list[int], columns: int) -> Tensor:
    """Positions in three dimensions of right-aligned rows: int64 [3, rows, columns]."""
    rows = [
        np.pad(spatial_positions(length, own), ((0, 0), (columns - length, 0)))
        for own, length in zip(images, lengths, strict=True)
    ]
    return torch.from_numpy(np.stack(rows, axis=1))


def _innermost(module: nn.Module) -> nn.Module:
    """The model inside PEFT's wrapper, whose signature is generic."""
    unwrap = getattr(module, "get_base_model", None)
    inner: object = unwrap() if callable(unwrap) else module
    return inner if isinstance(inner, nn.Module) else module
