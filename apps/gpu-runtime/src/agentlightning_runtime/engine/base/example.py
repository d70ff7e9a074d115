"""A datum with the positions of its trained tokens, and its images in their places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from agentlightning_runtime.engine.vision.placed_images import spatial_positions

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from agentlightning_runtime.contract.batch import Datum
    from agentlightning_runtime.engine.vision.placed_images import PlacedImage


@dataclass(frozen=True)
class Example:
    """A datum, its index in the batch, the positions of its trained tokens, and its images."""

    index: int
    datum: Datum
    positions: NDArray[np.int64]
    images: Sequence[PlacedImage] = ()

    @property
    def length(self) -> int:
        """Number of input tokens: all before the last trained one."""
        return int(self.positions[-1])

    @cached_property
    def patches(self) -> dict[str, int]:
        """The number of patches of each distinct image, by its digest: the tokens of the vision tower."""
        return {placed.image.digest: len(placed.image.patches) for placed in self.images}

    @property
    def size(self) -> int:
        """The work of the sequence alone: its tokens, and the patches of its distinct images."""
        return self.length + self.patches_besides(())

    def patches_besides(self, digests: Collection[str]) -> int:
        """The number of patches of its distinct images, without those of these digests."""
        return sum(count for digest, count in self.patches.items() if digest not in digests)

    @cached_property
    def identity(self) -> NDArray[np.int64]:
        """The input tokens, where those of different images differ: a negative number of 63 bits for each image."""
        tokens = self.datum.token_ids[: self.length].astype(np.int64)
        for placed in self.images:
            tokens[placed.start : placed.end] = -1 - int(placed.image.digest[:15], 16)
        return tokens

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Positions of the input tokens in time, height and width: [3, length]."""
        return spatial_positions(self.length, self.images)
