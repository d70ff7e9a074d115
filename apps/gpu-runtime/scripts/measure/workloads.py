"""Shapes of models and batches: those of Qwen3, and of what agents train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from transformers import Qwen3Config

from agentlightning_runtime.contract.batch import Batch, Datum, ResolvedLoss, TrainedSpan
from agentlightning_runtime.engine.loss.loss_definitions import LOSS_DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

Workload = Literal["long", "agents", "groups"]
"""Kinds of batches: see `workload`."""

TINY_DIVISOR = 32
"""Batches of `--tiny` have lengths divided by this."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Shape of a Qwen3 model.

    Attributes:
        name: Its name.
        width: Size of the hidden states.
        layers: Number of layers.
        heads: Number of query heads of a layer.
        key_heads: Number of key and value heads of a layer.
        inner: Size of the feed-forward layer.
        head_width: Size of a head.
        vocabulary: Number of tokens.
    """

    name: str
    width: int
    layers: int
    heads: int
    key_heads: int
    inner: int
    head_width: int = 128
    vocabulary: int = 151_936

    def config(self) -> Qwen3Config:
        """The configuration of Transformers, with tied embeddings."""
        return Qwen3Config(
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.key_heads,
            head_dim=self.head_width,
            intermediate_size=self.inner,
            vocab_size=self.vocabulary,
            max_position_embeddings=40_960,
            tie_word_embeddings=True,
        )

    def flops(self, data: Sequence[Datum], *, full: bool) -> float:
        """Floating-point operations of one pass forward and backward, without recomputation.

        Two for each weight and token forward, as many for the gradients of the states, and as many again for those of
        the weights when all are trained; three times four for each head, its width and each pair of tokens that
        attend; the output layer for trained tokens only (Kaplan et al. 2020, section 2.1).
        """
        attention_weights = self.width * self.head_width * (2 * self.heads + 2 * self.key_heads)
        body = self.layers * (attention_weights + 3 * self.width * self.inner)
        tokens = sum(len(datum.token_ids) for datum in data)
        trained = sum(datum.trained_tokens for datum in data)
        weights = body * tokens + self.width * self.vocabulary * trained
        pairs = sum(len(datum.token_ids) * (len(datum.token_ids) + 1) / 2 for datum in data)
        attention = 4 * self.layers * self.heads * self.head_width * pairs
        return 2 * (3 if full else 2) * weights + 3 * attention


QWEN_600M = Shape("0.6B", 1024, 28, 16, 8, 3072)
QWEN_1700M = Shape("1.7B", 2048, 28, 16, 8, 6144)
QWEN_4B = Shape("4B", 2560, 36, 32, 8, 9728)
SMALL = Shape("small", 256, 4, 4, 2, 512, head_width=64, vocabulary=20_000)
"""Small enough for the reference on the CPU in float32."""
TINY = Shape("tiny", 64, 2, 4, 2, 128, head_width=16, vocabulary=512)
"""The shape of `--tiny`."""


def random_datum(tokens: np.ndarray[tuple[int], np.dtype[np.int64]], prompt: int, seed: int) -> Datum:
    """A datum whose tokens after the prompt are trained, with advantages of 1 and -1."""
    count = len(tokens) - prompt
    return Datum(
        token_ids=tokens.astype(np.int32),
        trained=[TrainedSpan(int(prompt), len(tokens))],
        sampling_logprobs=np.full(count, -12.0, dtype=np.float32),
        advantages=np.random.default_rng(seed).choice([-1.0, 1.0], count).astype(np.float32),
        weights=np.full(count, 1e-4, dtype=np.float32),
        temperature=1.0,
    )


def workload(kind: Workload, vocabulary: int, *, is_tiny: bool) -> Batch:
    """A batch of random tokens, the same at every call.

    Args:
        kind: `long`: 2 rows of 16,384 tokens, nearly all trained, as in prime-rl's benchmark of micro-batches.
            `agents`: 48 conversations with log-normal lengths, half of the tokens trained. `groups`: 6 groups of 8
            siblings with a shared prompt of 768 tokens and responses of 128 to 384.
        vocabulary: Number of tokens of the model.
        is_tiny: Divides lengths by `TINY_DIVISOR`.
    """
    random = np.random.default_rng(7)
    scale = TINY_DIVISOR if is_tiny else 1
    data: list[Datum] = []
    if kind == "long":
        data = [random_datum(random.integers(0, vocabulary, 16_384 // scale), 128 // scale, seed) for seed in range(2)]
    elif kind == "agents":
        lengths = np.clip(random.lognormal(6.2, 0.9, 48), 64, 4096).astype(int) // scale + 4
        data = [random_datum(random.integers(0, vocabulary, n), n // 2, seed) for seed, n in enumerate(lengths)]
    else:
        for group in range(6):
            prompt = random.integers(0, vocabulary, 768 // scale)
            for sibling in range(8):
                response = random.integers(0, vocabulary, int(random.integers(128, 384)) // scale + 2)
                tokens = np.concatenate([prompt, response])
                data.append(random_datum(tokens, len(prompt), group * 8 + sibling))
    return Batch(data)


def default_loss(name: str) -> ResolvedLoss:
    """A loss with its default parameters."""
    return ResolvedLoss(name, next(each.defaults for each in LOSS_DEFINITIONS if each.name == name))
