"""Prepares images for a vision-language model with the image processor of its base."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.images import PreparedImage

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedModel

    from agentlightning_runtime.contract.images import Image, ImageReader

#: Model types whose images are read: they place images by `spatial_positions`.
_KNOWN_TYPES = frozenset({"qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe"})

#: Patches that are kept, together: 4 bytes for each value.
_MOST_KEPT_BYTES = 512 * 2**20

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")

#: Larger images are refused before they are decoded: a small file can have any size.
_MOST_PIXELS = 40_000_000


class ProcessedImages:
    """Decodes images; the last ones are kept, since rollouts of a group have the same. Implements `ImageReader`.

    Args:
        processor: The image processor of Transformers.
        placeholder: The token that stands for a part of an image.

    Attributes:
        placeholder: Likewise.
    """

    def __init__(self, processor: Any, placeholder: int) -> None:
        self._processor = processor
        self._kept: OrderedDict[str, PreparedImage] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()
        self.placeholder = placeholder

    def prepare(self, image: Image) -> PreparedImage:
        """The patches of an image.

        Raises:
            ValueError: when it cannot be decoded.
        """
        with self._lock:
            kept = self._kept.get(image.digest)
            if kept is not None:
                self._kept.move_to_end(image.digest)
                return kept
        prepared = self._prepared(image)
        with self._lock:
            if self._kept.setdefault(image.digest, prepared) is prepared:
                self._kept_bytes += prepared.patches.nbytes
            while self._kept_bytes > _MOST_KEPT_BYTES and len(self._kept) > 1:
                self._kept_bytes -= self._kept.popitem(last=False)[1].patches.nbytes
        return prepared

    def save(self, directory: Path) -> None:
        """Writes `preprocessor_config.json`."""
        self._processor.save_pretrained(str(directory))

    def _prepared(self, image: Image) -> PreparedImage:
        from PIL import Image as pillow  # noqa: N813
        from PIL import UnidentifiedImageError

        try:
            with pillow.open(io.BytesIO(image.data), formats=_FORMATS) as opened:
                if opened.width * opened.height > _MOST_PIXELS:
                    message = f"it has {opened.width} x {opened.height} pixels, more than {_MOST_PIXELS}"
                    raise ValueError(message)
                decoded = opened.convert("RGB")
            inputs = self._processor(images=[decoded], return_tensors="np")
        except (UnidentifiedImageError, OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
            message = f"The image of {len(image.data)} bytes cannot be read: {error}"
            raise ValueError(message) from error
        time, height, width = (int(value) for value in inputs["image_grid_thw"][0])
        merge = int(self._processor.merge_size)
        patches = np.ascontiguousarray(inputs["pixel_values"], dtype=np.float32)
        return PreparedImage(image.digest, patches, (time, height, width), (time, height // merge, width // merge))


def image_reader(causal_lm: PreTrainedModel, source: str) -> ImageReader | None:
    """The reader of a base model's images; None for a model that reads text only.

    Args:
        causal_lm: The model, with or without weights.
        source: A Hugging Face id or a folder.

    Raises:
        EngineError: INVALID when Pillow is missing.
    """
    if causal_lm.config.model_type not in _KNOWN_TYPES:
        return None
    assert_pillow(source)
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(source, backend="pil")
    return ProcessedImages(processor, int(causal_lm.config.image_token_id))


def assert_pillow(source: str) -> None:
    """Raises INVALID without Pillow."""
    if find_spec("PIL") is None:
        raise EngineError(
            EngineErrorReason.INVALID,
            f'Model "{source}" reads images, which needs the package pillow',
            remedy="pip install 'agentlightning-runtime[vision]'",
        )
