"""Images in the messages of a conversation."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.contract.images import Image, ImageReader, PreparedImage
from agentlightning_runtime.engine.vision.placed_images import PlacedImage, place_images
from agentlightning_runtime.inference.http.api_error import context_too_long, rejected

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Types of content parts of OpenAI's APIs that are images.
IMAGE_PARTS = frozenset({"image_url", "input_image"})

#: What the body of a request with images contains.
IMAGE_MARKS = tuple(name.encode() for name in sorted(IMAGE_PARTS))

_REMEDY = 'Send it as "data:image/png;base64,…": this endpoint fetches nothing.'

_DATA_URL = re.compile(r"data:image/[a-z+.-]+;base64,", re.IGNORECASE)


def is_image(part: object) -> bool:
    """Whether a content part is an image."""
    return isinstance(part, Mapping) and part.get("type") in IMAGE_PARTS


def refuse_addresses(messages: object) -> None:
    """Refuses content that a model server would fetch.

    Raises:
        ApiError: when a part has a URL that is not a data URL.
    """
    for part in _parts(messages if isinstance(messages, list) else []):
        for name, given in part.items() if isinstance(part, Mapping) else ():
            url = given.get("url") if isinstance(given, Mapping) else given
            if name.endswith("_url") and not (isinstance(url, str) and url.startswith("data:")):
                raise rejected(f"{name} is not a data URL", _REMEDY, "messages")


def _parts(messages: Sequence[object]) -> list[Any]:
    """The content parts of all messages."""
    contents = [message.get("content") for message in messages if isinstance(message, Mapping)]
    return [part for content in contents if isinstance(content, list) for part in content]


class PromptImages:
    """Reads the images of conversations for a model, and finds their tokens.

    Args:
        reader: The model's reader of images.
    """

    def __init__(self, reader: ImageReader) -> None:
        self._reader = reader

    def read(self, messages: Sequence[Mapping[str, Any]], max_tokens: int) -> list[PreparedImage]:
        """The images of all messages, in their order; none is decoded once they have more than `max_tokens`.

        Raises:
            ApiError: when one is not a data URL, or cannot be decoded, or when they exceed the context.
        """
        images: list[PreparedImage] = []
        for part in _parts(messages):
            if is_image(part):
                images.append(self._prepared(part, f"Image {len(images)}"))
                if (tokens := sum(image.tokens for image in images)) > max_tokens:
                    raise context_too_long(tokens, max_tokens)
        return images

    def expanded(self, tokens: Sequence[int], images: Sequence[PreparedImage]) -> list[int]:
        """The tokens of a rendered conversation, with as many placeholders as each image has tokens.

        Raises:
            ApiError: when the conversation does not have one placeholder for each image.
        """
        placeholder = self._reader.placeholder
        if (found := sum(token == placeholder for token in tokens)) != len(images):
            message = f"The rendered conversation has {found} placeholders for {len(images)} images"
            raise rejected(message, "Leave the model's image tokens out of texts.", "messages")
        waiting = iter(images)
        return [
            each
            for token in tokens
            for each in ([placeholder] * next(waiting).tokens if token == placeholder else [token])
        ]

    def placed(self, tokens: Sequence[int], images: Sequence[PreparedImage]) -> tuple[PlacedImage, ...]:
        """The images in their places.

        Raises:
            ApiError: when the tokens have no place for one of them.
        """
        try:
            return tuple(place_images(tokens, self._reader.placeholder, images))
        except ValueError as error:
            remedy = "Send the token ids that this endpoint has returned for a conversation with the same images."
            raise rejected(str(error), remedy, "prompt_token_ids") from error

    def _prepared(self, part: Mapping[str, Any], name: str) -> PreparedImage:
        given = part.get("image_url")
        url = given.get("url") if isinstance(given, Mapping) else given
        start = _DATA_URL.match(url) if isinstance(url, str) else None
        if not isinstance(url, str) or start is None:
            raise rejected(f"{name} is not a data URL with an image in base64", _REMEDY, "messages")
        try:
            return self._reader.prepare(Image.of(base64.b64decode(url[start.end() :], validate=True)))
        except (binascii.Error, ValueError) as error:
            remedy = "Send a whole file of PNG, JPEG, WebP or GIF, in base64."
            raise rejected(f"{name} cannot be read: {error}", remedy, "messages") from error
