"""Fields shared by both requests: sampling parameters and unsupported features."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agentlightning_runtime.inference.http.api_error import ApiError, rejected
from agentlightning_runtime.inference.http.json_object import json_object

MAX_CHOICES = 128
"""The maximum number of responses of one request."""

#: Fields that affect the response and are not supported, with their neutral values.
_UNSUPPORTED: dict[str, tuple[object, ...]] = {
    "response_format": ({"type": "text"},),
    "logit_bias": ({},),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "min_p": (0,),
    "functions": ([],),
    "function_call": ("none",),
    "audio": (),
    "modalities": (["text"],),
    "prediction": (),
    "web_search_options": (),
    "best_of": (1,),
    "suffix": ("",),
    "echo": (False,),
    "use_beam_search": (False,),
    "min_tokens": (0,),
    "ignore_eos": (False,),
    "guided_json": (),
    "guided_regex": (),
    "guided_choice": (),
    "guided_grammar": (),
    "structured_outputs": (),
    "continue_final_message": (False,),
}


class StreamOptions(BaseModel):
    """Additional content of a stream."""

    include_usage: bool | None = None


class ModelRequest(BaseModel):
    """Sampling parameters. Fields without effect on the response, such as `user`, are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None
    seed: int | None = None
    stop: str | Annotated[list[str], Field(max_length=16)] | None = None
    stop_token_ids: Annotated[list[int], Field(max_length=64)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    return_token_ids: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _refuse_unsupported(cls, values: Any) -> Any:
        for name, harmless in _UNSUPPORTED.items():
            value = values.get(name) if isinstance(values, dict) else None
            if value is not None and value not in harmless:
                said = json.dumps(value, ensure_ascii=False)[:200]
                raise rejected(
                    f"{name} is {said}, but this endpoint does not support {name}", f"Leave {name} out.", name
                )
        return values

    @property
    def stops(self) -> list[str]:
        """Texts that end a response."""
        texts = [self.stop] if isinstance(self.stop, str) else (self.stop or [])
        return [text for text in texts if text != ""]

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with the token counts."""
        return self.stream_options is not None and self.stream_options.include_usage is True

    @property
    def choice_count(self) -> int:
        """The number of responses."""
        return self.n or 1

    def choice_seeds(self) -> list[int | None]:
        """Responses of one request have different seeds, also when the request sets one."""
        if self.seed is None:
            return [None] * self.choice_count
        return [(index * 0x9E3779B1 + self.seed) % 2**32 for index in range(self.choice_count)]

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Reads a request's body.

        Raises:
            ApiError: when it is not a JSON object, or a field is invalid; names the field.
        """
        return _read(cls, body)


_Request = TypeVar("_Request", bound=ModelRequest)


def _read(kind: type[_Request], body: bytes) -> _Request:
    values = json_object(body)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise _first_issue(error) from error


def _first_issue(error: ValidationError) -> ApiError:
    issue = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in issue["loc"])
    given = "" if issue["type"] == "missing" else f" is {str(issue['input'])[:200]!r}"
    message = f"{field}{given}: {issue['msg'][:1].lower()}{issue['msg'][1:]}"
    return rejected(message, "Correct the field.", field or None)
