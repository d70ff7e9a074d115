"""A server with the routes of vLLM that this package uses, with vLLM's validation."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from peft import PeftModel
from safetensors.torch import load_file
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from tests.inference.scripted_token_api import ScriptedTokenApi
from tests.inference.scripted_transfer import ScriptedWorker
from transformers import AutoModelForCausalLM

from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.inference.experimental.vllm.server_api import VllmApi
from agentlightning_runtime.inference.http.http_server import EndpointSettings, HttpServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from starlette.middleware.base import RequestResponseEndpoint
    from starlette.requests import Request
    from torch import nn

    from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmModel


Fault = Literal["", "adapter_not_delivered", "old_adapter_kept", "base_served", "stale_replica"]
"""A planted fault. The server reports success all the same.

`adapter_not_delivered`: a name that is loaded stands for the base. `old_adapter_kept`: for the adapter before, or, with
all weights, a reload changes nothing. `base_served`: adapters are ignored when sampling. `stale_replica`: one of two
replicas behind the address behaves as with `old_adapter_kept`.
"""

_LOADING = threading.Lock()


class ScriptedVllm:
    """Chats respond with a number derived from the loaded weights; completions are sampled from them.

    Prompts of chats are cached by adapter name.

    Args:
        model: its settings.
        can_sleep: whether it was started with `--enable-sleep-mode`.
        api_key: required of every request; empty: none.
        name: its name of the base, as with `--served-model-name`; None: the source.
        transfer: the backend of its `--weight-transfer-config`; empty: started without.
    """

    def __init__(
        self,
        model: VllmModel,
        *,
        can_sleep: bool = False,
        api_key: str = "",
        name: str | None = None,
        transfer: str = "",
    ) -> None:
        if model.write_source is not None:
            model.write_source()
        self.model = model
        self.base_name = name or model.source
        self.api = VllmApi()
        self.api_key = api_key
        self.can_sleep = can_sleep
        self.is_asleep = False
        self.sleeps = 0
        self.requests = 0
        self.paths: list[str] = []
        self.fault: Fault = ""
        base = load_random_model("random:llama-tiny").causal_lm if model.lora_rank > 0 else load_network(model.source)
        # Two replicas take turns. Each holds the networks by the names that clients send.
        self._replicas: list[dict[str, nn.Module]] = [{self.base_name: base} for _ in range(2)]
        self._turns = itertools.count()
        self.adapters: dict[str, float] = {}
        # As vLLM's prefix cache: unloading an adapter does not evict what was computed with it.
        self.cached: dict[str, float] = {}
        self.hold = threading.Event()
        self.hold.set()
        self.asked = threading.Event()
        self.is_stopped = False
        self.loaded = 0.0 if model.lora_rank > 0 else _number(Path(model.source) / "model.safetensors")
        self.token_api = ScriptedTokenApi(self.hold, self.asked)
        self.worker = ScriptedWorker(transfer, self._parameters, self._take)
        routes = [
            *self.token_api.routes(),
            *self.worker.routes(),
            Route("/v1/models", self._list, methods=["GET"]),
            Route("/sleep", self._sleep, methods=["POST"]),
            Route("/wake_up", self._wake, methods=["POST"]),
            Route("/v1/load_lora_adapter", self._load, methods=["POST"]),
            Route("/v1/unload_lora_adapter", self._unload, methods=["POST"]),
            Route("/collective_rpc", self._rpc, methods=["POST"]),
            Route("/reset_prefix_cache", self._reset, methods=["POST"]),
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/completions", self._complete, methods=["POST"]),
            Route("/tokenize", self._tokenize, methods=["POST"]),
        ]
        guard = [Middleware(BaseHTTPMiddleware, dispatch=self._guard)]
        self._server = HttpServer(Starlette(routes=routes, middleware=guard), EndpointSettings())
        self.root_url = self._server.base_url.removesuffix("/v1")

    def stop(self) -> None:
        self.is_stopped = True
        self._server.close()

    async def _guard(self, request: Request, proceed: RequestResponseEndpoint) -> Response:
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return JSONResponse({"error": "Unauthorized"}, 401)
        if self.worker.is_half_new and request.url.path in ("/v1/completions", "/v1/chat/completions"):
            return _refusal(500, "EngineCore encountered an issue.")
        if self.is_asleep and request.url.path != "/wake_up":
            return _refusal(500, "The memory of this server is released")
        return await proceed(request)

    async def _tokenize(self, request: Request) -> Response:
        body = await request.json()
        return JSONResponse(
            {"count": 1, "max_model_len": 64, "tokens": [len(body["messages"])], "model": body["model"]}
        )

    async def _list(self, request: Request) -> Response:
        base = {"id": self.base_name, "object": "model", "root": self.model.source, "parent": None}
        adapters = [{"id": name, "object": "model", "parent": self.base_name} for name in self.adapters]
        return JSONResponse({"object": "list", "data": [base, *adapters]})

    async def _sleep(self, request: Request) -> Response:
        level, mode = request.query_params.get("level", "1"), request.query_params.get("mode", "abort")
        if level not in ("0", "1", "2") or mode not in ("abort", "wait", "keep"):
            return JSONResponse({"detail": "Unprocessable"}, 422)
        if not self.can_sleep:
            return _refusal(500, "Sleep mode is not enabled")
        self.is_asleep, self.sleeps = True, self.sleeps + 1
        return JSONResponse({"status": "sleeping", "level": int(level)})

    async def _wake(self, request: Request) -> Response:
        self.is_asleep = False
        return JSONResponse({"status": "awake", "tags": None})

    async def _load(self, request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        name, path = body.get("lora_name"), body.get("lora_path")
        if self.model.lora_rank == 0:
            return _refusal(404, "Not Found")
        if not name or not path:
            return _refusal(400, "Both 'lora_name' and 'lora_path' must be provided.")
        if name in self.adapters:
            return _refusal(400, f"The lora adapter '{name}' has already been loaded.")
        folder = Path(path)
        if not (folder / "adapter_config.json").exists():
            return _refusal(404, f"No adapter found for {path}")
        if json.loads((folder / "adapter_config.json").read_text())["r"] > self.model.lora_rank:
            return _refusal(400, "LoRA rank is greater than max_lora_rank")
        self.adapters[name] = _number(folder / "adapter_model.safetensors")
        self.paths.append(str(path))
        base = self._replicas[0][self.base_name]
        for replica in self._replicas:
            if self.fault == "adapter_not_delivered":
                replica[name] = base
            elif self._keeps_old(replica):
                replica[name] = list(replica.values())[-1]
            else:
                replica[name] = PeftModel.from_pretrained(copy.deepcopy(base), path).eval()
        return Response(f"Success: LoRA adapter '{name}' added successfully.")

    async def _unload(self, request: Request) -> Response:
        name = (await request.json()).get("lora_name")
        if name not in self.adapters:
            return _refusal(404, f"The lora adapter '{name}' cannot be found.")
        del self.adapters[name]
        for replica in self._replicas:
            del replica[name]
        return Response(f"Success: LoRA adapter '{name}' removed successfully.")

    async def _rpc(self, request: Request) -> Response:
        if self.model.lora_rank > 0:
            return _refusal(404, "Not Found")
        body: dict[str, Any] = await request.json()
        if body.get("method") != "reload_weights":
            return _refusal(400, "Missing 'method' in request body")
        path = body.get("kwargs", {}).get("weights_path", self.model.source)
        self.loaded = _number(Path(path) / "model.safetensors")
        for replica in self._replicas:
            if not self._keeps_old(replica):
                replica[self.base_name] = load_network(path)
        return JSONResponse({"results": [None]})

    def _parameters(self) -> dict[str, torch.Tensor]:
        return dict(self._replicas[0][self.base_name].named_parameters())

    def _take(self, tensors: dict[str, torch.Tensor]) -> None:
        self.loaded = _total(tensors.values())
        for replica in self._replicas:
            if not self._keeps_old(replica):
                network = copy.deepcopy(replica[self.base_name])
                network.load_state_dict(tensors, strict=False)
                replica[self.base_name] = network

    async def _reset(self, request: Request) -> Response:
        self.cached.clear()
        return Response()

    async def _chat(self, request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        name = body["model"]
        self.asked.set()
        self.requests += 1
        if name not in self.adapters and name != self.base_name:
            return _refusal(404, f"The model `{name}` does not exist.")
        if body.get("temperature", 1) < 0:
            return _refusal(400, "temperature must be non-negative")
        number = self.adapters.get(name, self.loaded)
        said = f"{self.cached.setdefault(name, number):.3f}"
        if body.get("stream"):
            return StreamingResponse(self._events(said), media_type="text/event-stream")
        await asyncio.to_thread(self.hold.wait, 60)
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "token_ids": [1], "logprobs": None}
        answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": name, "choices": [choice]}
        return JSONResponse({**answer, "prompt_token_ids": [2]})

    async def _complete(self, request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        self.requests += 1
        replica = self._replicas[next(self._turns) % 2]
        if body["model"] not in replica:
            return _refusal(404, f"The model `{body['model']}` does not exist.")
        name = self.base_name if self.fault == "base_served" else body["model"]
        tokens, logprobs = sample(replica[name], body)
        choice = {"index": 0, "token_ids": tokens, "logprobs": {"token_logprobs": logprobs}, "finish_reason": "length"}
        return JSONResponse({"id": "cmpl-1", "object": "text_completion", "choices": [choice]})

    def _keeps_old(self, replica: dict[str, nn.Module]) -> bool:
        is_stale = self.fault == "stale_replica" and replica is self._replicas[1]
        return is_stale or self.fault == "old_adapter_kept"

    async def _events(self, said: str) -> AsyncIterator[str]:
        for text in said:
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
            yield f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
        await asyncio.to_thread(self.hold.wait, 60)
        yield "data: [DONE]\n\n"


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "BadRequestError", "code": status}}, status)


def load_network(source: str) -> nn.Module:
    # Transformers changes global defaults while it loads.
    with _LOADING:
        return AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).eval()


@torch.inference_mode()
def sample(network: nn.Module, body: dict[str, Any]) -> tuple[list[int], list[float]]:
    """Sampled tokens and their log-probabilities, with the fields of vLLM's completions."""
    random = torch.Generator().manual_seed(body["seed"])
    tokens, logprobs, cache = torch.tensor([body["prompt"]]), list[float](), None
    found: list[int] = []
    for _ in range(body["max_tokens"]):
        output = network(input_ids=tokens, past_key_values=cache, use_cache=True)
        distribution = torch.log_softmax(output.logits[0, -1] / body["temperature"], dim=-1)
        token = int(torch.multinomial(distribution.exp(), 1, generator=random))
        found.append(token)
        logprobs.append(float(distribution[token]))
        tokens, cache = torch.tensor([[token]]), output.past_key_values
    return found, logprobs


def _number(file: Path) -> float:
    """A number that depends on the weights."""
    return _total(load_file(file).values())


def _total(tensors: Iterable[torch.Tensor]) -> float:
    return sum(float(tensor.double().abs().sum()) for tensor in tensors)
