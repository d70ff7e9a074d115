"""Images of prompts: as clients send them, and as a network reads them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Image:
    """An encoded image.

    Attributes:
        data: A file of PNG, JPEG, WebP or GIF.
        digest: SHA-256 of the data, in hexadecimal.
    """

    data: bytes
    digest: str

    @staticmethod
    def of(data: bytes) -> Image:
        """The image of a file's bytes."""
        return Image(data, hashlib.sha256(data).hexdigest())


@dataclass(frozen=True, eq=False, slots=True)
class PreparedImage:
    """An image as the network reads it.

    Attributes:
        digest: SHA-256 of its file.
        patches: float32 [patches, values].
        grid: Number of patches in time, height and width.
        shape: Number of tokens in time, height and width, after neighbouring patches are merged.
    """

    digest: str
    patches: NDArray[np.float32]
    grid: tuple[int, int, int]
    shape: tuple[int, int, int]

    @property
    def tokens(self) -> int:
        """The number of tokens that stand for it in a prompt."""
        time, height, width = self.shape
        return time * height * width


class ImageReader(Protocol):
    """Reads images for a model. Thread-safe.

    Attributes:
        placeholder: The token that stands for a part of an image.
    """

    placeholder: int

    def prepare(self, image: Image) -> PreparedImage:
        """The patches of an image.

        Raises:
            ValueError: when it cannot be decoded.
        """
        ...

    def save(self, directory: Path) -> None:
        """Writes its settings beside an exported model, as Transformers reads them."""
        ...
