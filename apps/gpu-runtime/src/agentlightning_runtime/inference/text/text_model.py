"""A served model with its tokenizer: converts requests to token ids, and tokens to responses."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.inference.http.api_error import context_too_long, rejected
from agentlightning_runtime.inference.sampling.generation import GenerationRequest, ModelInput
from agentlightning_runtime.inference.sampling.sampling_rule import SamplingRule
from agentlightning_runtime.inference.text.chat_template import ChatTemplate
from agentlightning_runtime.inference.text.prompt_images import IMAGE_MARKS, PromptImages
from agentlightning_runtime.inference.text.response_text import ResponseText, stop_finder
from agentlightning_runtime.inference.text.token_texts import TokenTexts
from agentlightning_runtime.inference.tool_formats.registry import format_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlightning_runtime.contract.images import ImageReader, PreparedImage
    from agentlightning_runtime.inference.sampling.model_shape import ModelShape
    from agentlightning_runtime.inference.text.model_request import ModelRequest
    from agentlightning_runtime.inference.tool_formats.tool_format import ToolFormat


class TextModel:
    """Tokenizer, chat template, tool format and sizes of one model.

    Args:
        model_id: name that clients send as `model`.
        shape: the model's sizes.
        tokenizer: a tokenizer of Transformers; None: prompts of token ids only.
        end_tokens: additional end tokens.
        images: reads the images of prompts; None for a model that reads text only.
    """

    def __init__(
        self,
        model_id: str,
        shape: ModelShape,
        tokenizer: Any | None,
        end_tokens: Sequence[int] = (),
        *,
        images: ImageReader | None = None,
    ) -> None:
        self.model_id = model_id
        self.shape = shape
        self._tokenizer = tokenizer
        # Fast tokenizers modify their settings while they encode.
        self._encoding = threading.Lock()
        self._template = None if tokenizer is None else ChatTemplate(tokenizer, has_images=images is not None)
        self._images = None if images is None else PromptImages(images)
        self._token_texts = None if tokenizer is None else TokenTexts(tokenizer)
        own_end: object = getattr(tokenizer, "eos_token_id", None)
        ends = {*end_tokens, own_end} if isinstance(own_end, int) else set(end_tokens)
        self.end_tokens: frozenset[int] = frozenset(ends)

    @property
    def is_encoding(self) -> bool:
        """Whether a prompt is being encoded, so that the next one has to wait."""
        return self._encoding.locked()

    @property
    def tool_format(self) -> ToolFormat:
        """The model's tool call format."""
        return format_of("" if self._template is None else self._template.source)

    def has_in_template(self, text: str) -> bool:
        """Whether the source of the chat template has a text."""
        return self._template is not None and text in self._template.source

    def chat_prompt(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], settings: dict[str, Any] | None = None
    ) -> ModelInput:
        """A conversation's token ids and images; `settings` are passed to the template."""
        images = self._images_of(messages)
        return self._placed(self._rendered(messages, tools, settings, images, is_prompt=True), images)

    def with_images(self, tokens: Sequence[int], messages: list[dict[str, Any]]) -> ModelInput:
        """The token ids of a conversation, with its images in their places."""
        return self._placed(tokens, self._images_of(messages))

    def is_quick(self, body: bytes) -> bool:
        """Whether a request is read faster than another thread is asked to: a small file can be a large image."""
        return not self.is_encoding and (self._images is None or not any(each in body for each in IMAGE_MARKS))

    def _images_of(self, messages: list[dict[str, Any]]) -> list[PreparedImage]:
        return [] if self._images is None else self._images.read(messages, self.shape.max_context)

    def _placed(self, tokens: Sequence[int], images: list[PreparedImage]) -> ModelInput:
        checked = self._checked(tokens)
        return (
            ModelInput(checked) if self._images is None else ModelInput(checked, self._images.placed(checked, images))
        )

    def rendered(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        settings: dict[str, Any] | None,
        *,
        is_prompt: bool,
    ) -> list[int]:
        """A conversation's token ids of any number, with the start of the assistant's message for a prompt."""
        return self._rendered(messages, tools, settings, self._images_of(messages), is_prompt=is_prompt)

    def _rendered(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        settings: dict[str, Any] | None,
        images: list[PreparedImage],
        *,
        is_prompt: bool,
    ) -> list[int]:
        if self._template is None:
            raise self._without_texts("messages")
        with self._encoding:
            tokens = self._template.render(messages, tools, settings, is_prompt=is_prompt)
        return tokens if self._images is None else self._images.expanded(tokens, images)

    def chat_response(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        response: dict[str, Any],
        settings: dict[str, Any] | None = None,
    ) -> tuple[int, ...]:
        """The token ids of an assistant message that follows the conversation, with the end token."""
        if self._template is None:
            raise self._without_texts("messages")
        with self._encoding:
            return tuple(self._template.render_response(messages, tools, response, settings))

    def plain_prompt(self, prompt: str | list[int]) -> ModelInput:
        """The token ids of a text; token ids are returned unchanged."""
        if isinstance(prompt, list):
            return ModelInput(self._checked(prompt))
        if self._tokenizer is None:
            raise self._without_texts("prompt")
        with self._encoding:
            tokens: list[int] = self._tokenizer(prompt)["input_ids"]
        return ModelInput(self._checked(tokens))

    def generation_requests(
        self,
        request: ModelRequest,
        prompt: ModelInput,
        *,
        max_tokens: int | None,
        top_logprobs: int,
        forced: tuple[int, ...] | None = None,
    ) -> list[GenerationRequest]:
        """One for each choice. `forced` are the tokens of every choice, whose number is then its length."""
        room = self.shape.max_context - len(prompt.tokens)
        stops = [] if forced is not None else request.stops
        if forced is not None:
            max_tokens = len(forced)
            if max_tokens > room:
                raise context_too_long(len(prompt.tokens) + max_tokens, self.shape.max_context)
        rule = SamplingRule(
            temperature=1.0 if request.temperature is None else request.temperature,
            top_p=1.0 if request.top_p is None else request.top_p,
            top_k=max(0, request.top_k or 0),
            top_logprobs=top_logprobs,
        )
        return [
            GenerationRequest(
                prompt_tokens=prompt.tokens,
                images=prompt.images,
                max_tokens=min(room, max_tokens or room),
                rule=rule,
                seed=secrets.randbits(32) if seed is None else seed,
                end_tokens=self.end_tokens | frozenset(request.stop_token_ids or ()),
                find_stop=None if self._tokenizer is None else stop_finder(self._tokenizer, stops),
                forced_tokens=forced,
            )
            for seed in request.choice_seeds()
        ]

    def response_text(self, *, skip_special_tokens: bool) -> ResponseText | None:
        """An empty response; None without a tokenizer."""
        if self._tokenizer is None:
            return None
        return ResponseText(self._tokenizer, skip_special_tokens=skip_special_tokens)

    def text_of(self, tokens: Sequence[int], *, skip_special_tokens: bool) -> str:
        """The text of tokens; empty without a tokenizer."""
        if self._tokenizer is None:
            return ""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=skip_special_tokens))

    def token_text(self, token: int) -> tuple[str, tuple[int, ...]]:
        """The text of a single token and its bytes."""
        if self._token_texts is None:
            return f"token_id:{token}", ()
        return self._token_texts.of(token)

    def _checked(self, tokens: Sequence[int]) -> tuple[int, ...]:
        if not tokens:
            raise rejected("The prompt has no tokens", "Send at least one.", "prompt")
        if len(tokens) >= self.shape.max_context:
            raise context_too_long(len(tokens), self.shape.max_context)
        unknown = next((token for token in tokens if not 0 <= token < self.shape.vocab_size), None)
        if unknown is not None:
            remedy = f"Token ids are at least 0 and below {self.shape.vocab_size}."
            raise rejected(f"The prompt contains the unknown token {unknown}", remedy, "prompt")
        return tuple(tokens)

    def _without_texts(self, field: str) -> Exception:
        remedy = "Send token ids as the prompt of POST /v1/completions."
        return rejected(f'The model "{self.model_id}" has no tokenizer', remedy, field)
