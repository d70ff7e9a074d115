"""The terms of engines are those of the gateway, and the sampler speaks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentlightning_runtime.inference.chat.chat_request import ChatRequest
from agentlightning_runtime.inference.experimental.vllm.engine_terms import RUNTIME, SGLANG, VLLM, EngineTerms
from agentlightning_runtime.inference.experimental.vllm.server_api import SglangApi

DATA = Path(__file__).resolve().parents[4] / "packages/core/src/chat-completion/engines.json"


@pytest.mark.parametrize(("name", "terms"), [("runtime", RUNTIME), ("vllm", VLLM), ("sglang", SGLANG)])
def test_terms_are_those_that_the_gateway_reads(name: str, terms: EngineTerms) -> None:
    engine: dict[str, Any] = json.loads(DATA.read_text())[name]
    assert terms.name == engine["name"]
    assert terms.token_ids_flag == engine["request"]["tokenIds"]
    assert terms.prompt_token_ids_parameter == engine["request"]["promptTokenIds"]
    assert list(terms.token_ids_fields) == engine["response"]["tokenIds"]
    assert terms.streams_token_ids is engine["streamsTokenIds"]
    assert terms.tokenize_route == engine["routes"]["tokenize"]


def test_requests_have_the_parameters_of_the_runtime() -> None:
    assert {RUNTIME.token_ids_flag, RUNTIME.prompt_token_ids_parameter} <= set(ChatRequest.model_fields)


@pytest.mark.parametrize("name", SGLANG.token_ids_fields)
def test_every_field_of_sglang_is_renamed(name: str) -> None:
    renamed = SglangApi().as_of_vllm({"choices": [{"index": 0, name: [7, 8]}]})
    assert renamed["choices"] == [{"index": 0, VLLM.token_ids_fields[0]: [7, 8]}]
