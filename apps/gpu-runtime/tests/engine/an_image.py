"""Images and sequences with them for tests."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image as pillow  # noqa: N813

from agentlightning_runtime.contract.batch import Batch, Datum, TrainedSpan
from agentlightning_runtime.contract.images import Image
from agentlightning_runtime.engine.loading.random_model import load_random_model

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The random model that reads images.
VISION_SOURCE = "random:qwen3-vl-tiny"

START, END, PART = 259, 260, 261


def an_image(seed: int, *, width: int = 16, height: int = 16) -> Image:
    """A PNG of noise; one token for 8 by 8 pixels."""
    noise = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    pillow.fromarray(noise).save(file, format="PNG")
    return Image.of(file.getvalue())


def a_prompt(*parts: Image | Sequence[int]) -> list[int]:
    """Token ids of texts and images, each image between the tokens that open and close it."""
    reader = load_random_model(VISION_SOURCE).images
    assert reader is not None
    tokens: list[int] = []
    for part in parts:
        tokens += [START, *[PART] * reader.prepare(part).tokens, END] if isinstance(part, Image) else part
    return tokens


def a_datum_of(prompt: Sequence[int], response: Sequence[int], images: Sequence[Image]) -> Datum:
    """A sequence whose response is trained, with the advantage 1."""
    ones = np.ones(len(response), dtype=np.float32)
    return Datum(
        token_ids=np.array([*prompt, *response], dtype=np.int32),
        trained=[TrainedSpan(len(prompt), len(prompt) + len(response))],
        sampling_logprobs=-5 * ones,
        advantages=ones,
        weights=ones / np.float32(len(response)),
        temperature=1.0,
        images=images,
    )


def a_batch_with_images() -> Batch:
    """A group that shares a prompt with two images, one that differs in its second image, and a text."""
    first, second, other = an_image(1), an_image(2, width=24, height=16), an_image(3, width=24, height=16)
    text = list(b"How many squares are in the next image, of the two that follow?")
    shared = a_prompt(text, first, [1], second, [7, 8])
    different = a_prompt(text, first, [1], other, [7, 8])
    return Batch(
        [
            a_datum_of(shared, [50, 51, 52], [first, second]),
            a_datum_of(shared, [50, 60], [first, second]),
            a_datum_of(different, [50, 51, 52], [first, other]),
            a_datum_of([*text, 5, 6, 7], [9, 10, 11], []),
        ]
    )
