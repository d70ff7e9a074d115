"""The routes of the model API, shared by all backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentlightning_runtime.inference.api_error import ApiError
from agentlightning_runtime.inference.http_guard import error_response, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from agentlightning_runtime.inference.http_guard import Handler


def model_api(
    *, models: Callable[[], Mapping[str, Mapping[str, Any]]], chat: Handler, complete: Handler, api_key: str
) -> Starlette:
    """The ASGI application.

    Args:
        models: the served models by id, each with its extra fields in the model list.
        chat: handler of chat completions.
        complete: handler of completions.
        api_key: key that clients must send; empty: none.
    """

    async def list_models(_: Request) -> Response:
        common = {"object": "model", "created": 0, "owned_by": "agentlightning"}
        data = [{"id": model_id, **common, **more} for model_id, more in models().items()]
        return JSONResponse({"object": "list", "data": data})

    routes = [
        Route("/health", _health, methods=["GET"]),
        Route("/v1/models", guarded(list_models, api_key), methods=["GET"]),
        Route("/v1/chat/completions", guarded(chat, api_key), methods=["POST"]),
        Route("/v1/completions", guarded(complete, api_key), methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _no_route})


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = f"Unknown route {request.method} {request.url.path}"
    remedy = "GET /v1/models lists the models; POST /v1/chat/completions calls one."
    return error_response(ApiError(status, "NOT_FOUND", message, remedy))
