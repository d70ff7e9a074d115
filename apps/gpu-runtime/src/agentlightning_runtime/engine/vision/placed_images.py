"""The places of images in a sequence of tokens, and the positions of its tokens in three dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from agentlightning_runtime.contract.images import PreparedImage


@dataclass(frozen=True)
class PlacedImage:
    """An image whose first token is at `start` of a sequence."""

    start: int
    image: PreparedImage

    @property
    def end(self) -> int:
        """The index after its last token."""
        return self.start + self.image.tokens


def place_images(
    token_ids: Sequence[int] | NDArray[np.int32], placeholder: int, images: Sequence[PreparedImage]
) -> list[PlacedImage]:
    """Finds the tokens of images, which stand in the sequence in their order.

    A model can also write the placeholder itself: an image is the first run of it that is long enough.

    Args:
        token_ids: The sequence.
        placeholder: The token that stands for a part of an image.
        images: The images.

    Raises:
        ValueError: when an image has no place.
    """
    if not images:
        return []
    is_placeholder = np.concatenate([[False], np.asarray(token_ids) == placeholder, [False]])
    changes = np.flatnonzero(is_placeholder[1:] != is_placeholder[:-1])
    runs = list(zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True))
    placed: list[PlacedImage] = []
    end = 0
    for index, image in enumerate(images):
        start = next((max(first, end) for first, last in runs if last - max(first, end) >= image.tokens), None)
        if start is None:
            message = (
                f"Image {index} has {image.tokens} tokens, but the sequence has no such run of the token {placeholder}"
            )
            raise ValueError(message)
        placed.append(PlacedImage(start, image))
        end = start + image.tokens
    return placed


def spatial_positions(length: int, placed: Sequence[PlacedImage]) -> NDArray[np.int64]:
    """Positions in time, height and width of each token: int64 [3, length].

    Those of a text are equal and increase by 1. A token of an image has the place of its patches, counted from the
    position before the image; the text after it continues with the largest of them plus 1 (Qwen2-VL, arXiv 2409.12191,
    section 2.1).
    """
    positions = np.empty((3, length), dtype=np.int64)
    at, begin = 0, 0
    for one in placed:
        positions[:, begin : one.start] = np.arange(at, at + one.start - begin)
        at += one.start - begin
        positions[:, one.start : one.end] = at + np.indices(one.image.shape).reshape(3, -1)
        at += max(one.image.shape)
        begin = one.end
    positions[:, begin:] = np.arange(at, at + length - begin)
    return positions


def position_offset(placed: Sequence[PlacedImage]) -> int:
    """What is added to the index of a token after all images for its position."""
    return sum(max(one.image.shape) - one.image.tokens for one in placed)
