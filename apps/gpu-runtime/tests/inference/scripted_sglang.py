"""A server with the routes of SGLang 0.5.23 that this package uses, with SGLang's validation."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peft import PeftModel
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.inference.scripted_vllm import load_network, sample

from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.inference.http.http_server import EndpointSettings, HttpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from torch import nn

#: The fields of its request classes that this package sends. SGLang ignores others, so a wrong name has no effect.
_FIELDS = {
    "/load_lora_adapter": {"lora_name", "lora_path"},
    "/unload_lora_adapter": {"lora_name"},
    "/update_weights_from_disk": {"model_path", "flush_cache"},
    "/v1/completions": {"model", "prompt", "logprobs", "max_tokens", "seed", "temperature", "top_p", "top_k"}
    | {"repetition_penalty", "return_token_ids"},
    "/v1/chat/completions": {"model", "messages", "logprobs", "max_tokens", "return_token_ids", "stream"},
}


class ScriptedSglang:
    """Chats respond with one sampled token, and completions are sampled, both from the loaded weights.

    Args:
        source: a folder with the base model; None: a random one.
        max_lora_rank: of `--max-lora-rank`; 0: without `--enable-lora`.
        sampling_defaults: of `--sampling-defaults`.
    """

    def __init__(self, source: str | None = None, *, max_lora_rank: int = 0, sampling_defaults: str = "openai") -> None:
        self._networks: dict[str | None, nn.Module] = {
            None: load_random_model("random:llama-tiny").causal_lm if source is None else load_network(source)
        }
        self._name = source or "Qwen/Qwen2.5-0.5B"
        self._max_lora_rank = max_lora_rank
        self._sampling_defaults = sampling_defaults
        #: A planted fault: weights and adapters are not changed, and success is reported.
        self.keeps_weights = False
        self.unknown_fields: set[str] = set()
        routes = [
            Route("/v1/models", self._list, methods=["GET"]),
            Route("/server_info", self._info, methods=["GET"]),
            *[
                Route(path, endpoint, methods=["POST"])
                for path, endpoint in {
                    "/load_lora_adapter": self._load,
                    "/unload_lora_adapter": self._unload,
                    "/update_weights_from_disk": self._update,
                    "/v1/completions": self._complete,
                    "/v1/chat/completions": self._chat,
                }.items()
            ],
        ]
        self._server = HttpServer(Starlette(routes=routes), EndpointSettings())
        self.root_url = self._server.base_url.removesuffix("/v1")

    @property
    def adapters(self) -> list[str]:
        """The names of the loaded adapters."""
        return [name for name in self._networks if name is not None]

    def stop(self) -> None:
        self._server.close()

    async def _list(self, request: Request) -> Response:
        del request
        base = {"id": self._name, "object": "model", "owned_by": "sglang", "root": self._name, "parent": None}
        adapters = [{**base, "id": name, "parent": self._name} for name in self.adapters]
        return JSONResponse({"object": "list", "data": [base, *adapters]})

    async def _info(self, request: Request) -> Response:
        del request
        return JSONResponse({"version": "0.5.23", "sampling_defaults": self._sampling_defaults})

    async def _load(self, request: Request) -> Response:
        body = await self._body(request)
        name, folder = body["lora_name"], Path(body["lora_path"])
        if self._max_lora_rank == 0:
            return _failure("LoRA is not enabled. Please set `--enable-lora` to enable LoRA.")
        if name in self._networks:
            return _failure(f"LoRA adapter {name} is already loaded")
        if json.loads((folder / "adapter_config.json").read_text())["r"] > self._max_lora_rank:
            return _failure(f"LoRA adapter {name} is incompatible with the current LoRA memory pool configuration")
        base = self._networks[None]
        self._networks[name] = base if self.keeps_weights else PeftModel.from_pretrained(copy.deepcopy(base), folder)
        return JSONResponse({"success": True, "error_message": "", "loaded_adapters": {}})

    async def _unload(self, request: Request) -> Response:
        name = (await self._body(request))["lora_name"]
        if name not in self._networks:
            return _failure(f"LoRA with name {name} does not exist")
        del self._networks[name]
        return JSONResponse({"success": True, "error_message": "", "loaded_adapters": {}})

    async def _update(self, request: Request) -> Response:
        folder = (await self._body(request))["model_path"]
        if not self.keeps_weights:
            self._networks[None] = load_network(folder)
        # SGLang serves the base under the path of its new weights.
        self._name = folder
        return JSONResponse({"success": True, "message": "Succeeded to update model weights."})

    async def _complete(self, request: Request) -> Response:
        body = await self._body(request)
        network = self._network(body["model"])
        if network is None:
            return _rejection(f"The following requested LoRA adapters are not loaded: {body['model']}")
        tokens, logprobs = sample(network, body)
        choice: dict[str, Any] = {"index": 0, "text": "", "finish_reason": "length"}
        choice |= {"logprobs": {"token_logprobs": logprobs}}
        if body.get("return_token_ids"):
            choice |= {"token_ids": tokens, "prompt_token_ids": body["prompt"]}
        return JSONResponse({"id": "cmpl-1", "object": "text_completion", "choices": [choice]})

    async def _chat(self, request: Request) -> Response:
        body = await self._body(request)
        network = self._network(body["model"])
        if network is None:
            return _rejection(f"The following requested LoRA adapters are not loaded: {body['model']}")
        if body.get("stream"):
            if body.get("return_token_ids"):
                return _rejection("return_token_ids is not supported with streaming on /v1/chat/completions.")
            chunks = [{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "a"}}]}] * 2
            return Response("".join(_events(chunks)), media_type="text/event-stream")
        prompt = [2, 3]
        tokens, logprobs = sample(network, {"prompt": prompt, "max_tokens": 1, "temperature": 1, "seed": 1})
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "matched_stop": None}
        choice |= {"message": {"role": "assistant", "content": str(tokens[0])}}
        choice |= {"logprobs": {"content": [{"token": str(tokens[0]), "logprob": logprobs[0]}]}}
        if body.get("return_token_ids"):
            choice |= {"prompt_token_ids": prompt, "response_token_ids": tokens}
        usage = {"prompt_tokens": len(prompt), "completion_tokens": 1, "total_tokens": len(prompt) + 1}
        answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return JSONResponse({**answer, "choices": [choice], "usage": usage})

    async def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = await request.json()
        self.unknown_fields |= set(body) - _FIELDS[request.url.path]
        return body

    def _network(self, model: str) -> nn.Module | None:
        """Any name without an adapter is the base."""
        if model == self._name or ":" not in model:
            return self._networks[None]
        adapter = model.removeprefix(f"{self._name}:") if model.startswith(f"{self._name}:") else model.split(":", 1)[1]
        return self._networks.get(adapter)


def _failure(message: str) -> Response:
    """Of a request that changes weights."""
    return JSONResponse({"success": False, "error_message": message}, 400)


def _rejection(message: str) -> Response:
    error = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
    return JSONResponse(error, 400)


def _events(chunks: list[dict[str, Any]]) -> Iterator[str]:
    for chunk in chunks:
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"
