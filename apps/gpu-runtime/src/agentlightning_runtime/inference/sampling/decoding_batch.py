"""The concurrent responses of one policy version."""

from __future__ import annotations

import inspect

import torch
from torch import Tensor, nn

from agentlightning_runtime.inference.sampling.generation import Generation
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
        prompts = sorted({generation.sequence for generation in newcomers}, key=lambda ids: (len(ids), ids))
        while prompts:
            width = len(prompts[-1])
            count = max(1, min(len(prompts), _PREFILL_TOKENS // width))
            group, prompts = prompts[-count:], prompts[:-count]
            wanted = set(group)
            self._prefill(group, [one for one in newcomers if one.sequence in wanted])

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
        logits = self._forward(tokens, lengths, self._cache)
        running = [index for index, row in enumerate(self._rows) if not row.is_over]
        if len(running) < len(self._rows):
            logits = logits[torch.tensor(running, device=self._device)]
        self._choose(logits, [self._rows[index] for index in running])
        self._drop_ended()

    def _prefill(self, prompts: list[tuple[int, ...]], generations: list[Generation]) -> None:
        width = max(len(prompt) for prompt in prompts)
        padded = [[0] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        cache = BatchCache(self._shape.layer_count)
        tokens = torch.tensor(padded, device=self._device)
        logits = self._forward(tokens, [len(prompt) for prompt in prompts], cache)
        place = {prompt: index for index, prompt in enumerate(prompts)}
        rows = [place[generation.sequence] for generation in generations]
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

    def _forward(self, tokens: Tensor, lengths: list[int], cache: BatchCache) -> Tensor:
        """Logits after the last token of each row, [rows, vocabulary]. `lengths` counts these tokens too."""
        columns = cache.get_seq_length() + tokens.shape[1]
        ends = torch.arange(columns, device=self._device)
        starts = torch.tensor([columns - length for length in lengths], device=self._device).unsqueeze(1)
        mask = (ends >= starts).long()
        positions = (ends - starts).clamp(min=0)[:, -tokens.shape[1] :]
        extra = {"logits_to_keep": 1} if self._keeps_last else {}
        with torch.autocast(self._device.type, self._compute_dtype, enabled=self._compute_dtype is not None):
            output = self._module(
                input_ids=tokens,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                **extra,
            )
        return output.logits[:, -1, : self._shape.output_size]

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


def _innermost(module: nn.Module) -> nn.Module:
    """The model inside PEFT's wrapper, whose signature is generic."""
    unwrap = getattr(module, "get_base_model", None)
    inner: object = unwrap() if callable(unwrap) else module
    return inner if isinstance(inner, nn.Module) else module
