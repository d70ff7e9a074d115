"""A served model for tests: random weights, one token a byte."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from openai import OpenAI

from agentlightning_runtime.contract.inference_backend import ServedModel
from agentlightning_runtime.contract.users import Keys
from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.http.http_server import EndpointSettings

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from torch import nn

MODEL_ID = "policy"


@dataclass(frozen=True)
class Serving:
    """A backend with one model, and an OpenAI client for it."""

    backend: BuiltinBackend
    model: ServedModel
    client: OpenAI

    @property
    def causal_lm(self) -> nn.Module:
        return self.model.module()


@contextmanager
def serving(
    source: str = "random:llama-tiny", *, api_key: str = "", users: Mapping[str, str] | None = None, prefix: str = ""
) -> Generator[Serving]:
    """Serves a model with random weights as version 3, with the prefix before its id."""
    torch.set_num_threads(1)
    loaded = load_random_model(source)
    backend = BuiltinBackend(EndpointSettings(keys=Keys(api_key, users)))
    try:
        model = ServedModel(prefix + MODEL_ID, lambda: loaded.causal_lm, loaded.tokenizer, loaded.output_size)
        backend.serve(model, 3)
        client = OpenAI(base_url=backend.base_url, api_key=api_key or "none", max_retries=0, timeout=60)
        yield Serving(backend, model, client)
    finally:
        backend.close()


def ask(served: Serving, **fields: Any) -> Any:
    """One chat completion with token ids and log-probabilities."""
    return _ask(served.client, fields)


def ask_model(base_url: str, **fields: Any) -> Any:
    """The same for the model at this address."""
    with OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=60) as client:
        return _ask(client, fields)


def _ask(client: OpenAI, fields: dict[str, Any]) -> Any:
    body: dict[str, Any] = {
        "model": MODEL_ID,
        "messages": [{"role": "user", "content": "Say a number."}],
        "max_tokens": 12,
        "logprobs": True,
        "extra_body": {"return_token_ids": True, **fields.pop("extra_body", {})},
        **fields,
    }
    return client.chat.completions.create(**body)
