"""Puts images into the input of a vision-language model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor
    from transformers import PreTrainedModel

    from agentlightning_runtime.contract.images import PreparedImage


@dataclass(frozen=True)
class RowImages:
    """The images of a pass through the model.

    Attributes:
        patches: float32 [patches, values], of distinct images.
        grids: int64 [distinct images, 3].
        distinct: For each image, its index in the distinct ones: each is computed once.
        places: int64 [tokens]: index in the flattened token ids of each token of an image, in their order.
    """

    patches: Tensor
    grids: Tensor
    distinct: Sequence[int]
    places: Tensor


def row_images(placed: Sequence[tuple[int, PreparedImage]], device: torch.device) -> RowImages | None:
    """The tensors of images, each with the index of its first token in the flattened token ids; None without images."""
    if not placed:
        return None
    places = np.concatenate([np.arange(start, start + image.tokens) for start, image in placed])
    images = {image.digest: image for _, image in placed}
    index = {digest: number for number, digest in enumerate(images)}
    return RowImages(
        patches=torch.from_numpy(np.concatenate([image.patches for image in images.values()])).to(device),
        grids=torch.tensor([image.grid for image in images.values()], device=device),
        distinct=[index[image.digest] for _, image in placed],
        places=torch.from_numpy(places).to(device),
    )


def decoder_inputs(causal_lm: PreTrainedModel, token_ids: Tensor, images: RowImages) -> dict[str, Any]:
    """The inputs of the model's decoder: embeddings with the images' features in their places.

    Models that add features after further layers (DeepStack, of Qwen3-VL) get those too.

    Args:
        causal_lm: The model.
        token_ids: int64 [rows, length].
        images: Their images.
    """
    model: Any = causal_lm
    features = model.get_image_features(images.patches, images.grids)
    embeddings: Tensor = model.get_input_embeddings()(token_ids)

    def of_all(of_distinct: Sequence[Tensor]) -> Tensor:
        return torch.cat([of_distinct[index] for index in images.distinct]).to(embeddings.dtype)

    values = of_all(features.pooler_output)
    flat = embeddings.flatten(0, 1).index_copy(0, images.places, values)
    inputs: dict[str, Any] = {"inputs_embeds": flat.view_as(embeddings)}
    deeper = getattr(features, "deepstack_features", None)
    if deeper is not None:
        mask = torch.zeros(token_ids.numel(), dtype=torch.bool, device=token_ids.device)
        mask[images.places] = True
        # The features follow the mask, so in the order of the tokens.
        order = images.places.argsort()
        inputs["visual_pos_masks"] = mask.view_as(token_ids)
        inputs["deepstack_visual_embeds"] = [of_all(level)[order] for level in deeper]
    return inputs
