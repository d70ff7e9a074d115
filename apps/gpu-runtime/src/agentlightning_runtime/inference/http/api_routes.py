"""The routes of the model API, shared by all backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentlightning_runtime.contract.users import current_user, is_own
from agentlightning_runtime.inference.http.api_error import ApiError, unknown_model
from agentlightning_runtime.inference.http.http_guard import body_of, error_response, guarded
from agentlightning_runtime.inference.http.json_object import json_object

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from agentlightning_runtime.contract.users import Keys
    from agentlightning_runtime.inference.http.http_guard import Handler

    BodyHandler = Callable[[Request, bytes], Awaitable[Response]]

POLICY_VERSION_HEADER = "x-agl-policy-version"
"""The response header with the policy version."""


def model_api(
    *,
    models: Callable[[], Mapping[str, Mapping[str, Any]]],
    chat: BodyHandler,
    complete: BodyHandler,
    tokenize: BodyHandler,
    keys: Keys,
) -> Starlette:
    """The ASGI application.

    Args:
        models: the served models by id, each with its extra fields in the model list.
        chat: handler of chat completions, with the body of the request.
        complete: handler of completions, likewise.
        tokenize: handler of vLLM's requests for the token ids of a conversation, likewise.
        keys: keys of the clients. A user sees and calls the user's own models only.
    """

    async def list_models(_: Request) -> Response:
        common = {"object": "model", "created": 0, "owned_by": "agentlightning"}
        data = [{"id": model_id, **common, **more} for model_id, more in models().items() if is_own(model_id)]
        return JSONResponse({"object": "list", "data": data})

    routes = [
        Route("/health", _health, methods=["GET"]),
        Route("/v1/models", guarded(list_models, keys), methods=["GET"]),
        Route("/v1/chat/completions", guarded(_with_body(chat), keys), methods=["POST"]),
        Route("/v1/completions", guarded(_with_body(complete), keys), methods=["POST"]),
        Route("/tokenize", guarded(_with_body(tokenize), keys), methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _no_route})


def _with_body(handler: BodyHandler) -> Handler:
    async def answer(request: Request) -> Response:
        body = await body_of(request)
        if current_user.get():
            name = str(json_object(body).get("model"))
            if not is_own(name):
                raise unknown_model(name)
        return await handler(request, body)

    return answer


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = f"Unknown route {request.method} {request.url.path}"
    remedy = "GET /v1/models lists the models; POST /v1/chat/completions calls one."
    return error_response(ApiError(status, "NOT_FOUND", message, remedy))
