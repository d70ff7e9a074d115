"""The terms of engines: fields and routes beyond OpenAI's API.

Written by `node tools/verify/generate-engines.ts` from packages/core/src/chat-completion/engines.json: do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineTerms:
    """Fields and routes of an engine. A route that it does not have is empty.

    Attributes:
        name: its name.
        token_ids_flag: parameter that requests token ids.
        prompt_token_ids_parameter: parameter with a chat's prompt as token ids.
        prompt_token_ids_field: field of a response with the prompt's token ids.
        token_ids_fields: fields of a choice with the sampled token ids, that of the newest release first.
        streams_token_ids: whether streamed chats can have token ids.
    """

    name: str
    token_ids_flag: str
    prompt_token_ids_parameter: str
    prompt_token_ids_field: str
    token_ids_fields: tuple[str, ...]
    streams_token_ids: bool
    tokenize_route: str
    generate_route: str = ""
    load_adapter_route: str = ""
    unload_adapter_route: str = ""
    reload_weights_route: str = ""
    reset_prefix_cache_route: str = ""


RUNTIME = EngineTerms(
    name="Agent Lightning's runtimes",
    token_ids_flag="return_token_ids",
    prompt_token_ids_parameter="prompt_token_ids",
    prompt_token_ids_field="prompt_token_ids",
    token_ids_fields=("token_ids",),
    streams_token_ids=True,
    tokenize_route="/tokenize",
)

VLLM = EngineTerms(
    name="vLLM",
    token_ids_flag="return_token_ids",
    prompt_token_ids_parameter="prompt_token_ids",
    prompt_token_ids_field="prompt_token_ids",
    token_ids_fields=("token_ids",),
    streams_token_ids=True,
    tokenize_route="/tokenize",
    generate_route="/inference/v1/generate",
    load_adapter_route="/v1/load_lora_adapter",
    unload_adapter_route="/v1/unload_lora_adapter",
    reload_weights_route="/collective_rpc",
    reset_prefix_cache_route="/reset_prefix_cache",
)

SGLANG = EngineTerms(
    name="SGLang",
    token_ids_flag="return_token_ids",
    prompt_token_ids_parameter="input_ids",
    prompt_token_ids_field="prompt_token_ids",
    token_ids_fields=("response_token_ids", "output_token_ids"),
    streams_token_ids=False,
    tokenize_route="/tokenize",
    load_adapter_route="/load_lora_adapter",
    unload_adapter_route="/unload_lora_adapter",
    reload_weights_route="/update_weights_from_disk",
)
