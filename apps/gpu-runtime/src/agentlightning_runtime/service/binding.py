"""Binds handlers to the services of the contract, without generated stubs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import grpc
import grpc.aio
from google.protobuf import message_factory
from google.protobuf.message import Message

from agentlightning_runtime.contract.users import Keys
from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2
from agentlightning_runtime.service.base.failure import (
    STATUS_OF_REASON,
    TRAILER,
    RuntimeFailureError,
    is_expected,
    to_failure,
)

if TYPE_CHECKING:
    from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

    Context = grpc.aio.ServicerContext[Message, Message]

LOG = logging.getLogger(__name__)

# grpc's types declare the blocking server only; the asynchronous one accepts coroutines in the same positions.
Answering = Callable[[Any, grpc.ServicerContext], Message]
Streaming = Callable[[Any, grpc.ServicerContext], Iterator[Message]]

# Requests and responses are messages of the method's types, which are declared in the handler tables.
Unary = Callable[..., Awaitable[Message]]
Upload = Callable[..., Awaitable[Message]]
Download = Callable[..., AsyncIterator[Message]]
Handlers = Mapping[str, Unary | Upload | Download]


class Gate:
    """Authenticates calls by the API key.

    Args:
        api_key: Sent by clients as `authorization: Bearer ...`; without it and users, calls are not authenticated.
        users: Instead of one key, a key for each user by name.
    """

    def __init__(self, api_key: str, users: Mapping[str, str] | None = None) -> None:
        self._keys = Keys(api_key, users)

    def check(self, context: Context) -> None:
        """Sets the user of the call; raises UNAUTHENTICATED when the key is missing or wrong."""
        sent = next((value for key, value in context.invocation_metadata() or () if key == "authorization"), "")
        if self._keys.identify(sent if isinstance(sent, bytes) else sent.encode()):
            return
        raise RuntimeFailureError(
            error_pb2.ERROR_REASON_UNAUTHENTICATED,
            "The API key of the call is wrong" if sent else "The call has no API key",
            remedy="Pass the runtime's key as `apiKey` to connectRuntime.",
        )


def bind_service(service: ServiceDescriptor, handlers: Handlers, gate: Gate) -> grpc.GenericRpcHandler:
    """A service with a handler for each of its methods, by name."""
    methods = {method.name: _bind(method, handlers[method.name], gate) for method in service.methods}
    return grpc.method_handlers_generic_handler(service.full_name, methods)


def _bind(
    method: MethodDescriptor, handler: Unary | Upload | Download, gate: Gate
) -> grpc.RpcMethodHandler[Message, Message]:
    decode = message_factory.GetMessageClass(method.input_type).FromString
    if method.server_streaming:
        answering = _download(cast("Download", handler), gate)
        return grpc.unary_stream_rpc_method_handler(
            cast("Streaming", answering), request_deserializer=decode, response_serializer=_encode
        )
    bind = grpc.stream_unary_rpc_method_handler if method.client_streaming else grpc.unary_unary_rpc_method_handler
    answer = cast("Answering", _unary(cast("Unary", handler), gate))
    return bind(answer, request_deserializer=decode, response_serializer=_encode)


def _encode(message: Message) -> bytes:
    return message.SerializeToString()


def _unary(handler: Unary, gate: Gate) -> Callable[[object, Context], Awaitable[Message]]:
    """Also for uploads, whose request is the iterator of messages."""

    async def answer(request: object, context: Context) -> Message:
        try:
            gate.check(context)
            return await handler(request)
        except Exception as error:  # Any failure is returned to the client; the server continues.
            await _abort(context, error)
            raise

    return answer


def _download(handler: Download, gate: Gate) -> Callable[[object, Context], Awaitable[None]]:
    async def answer(request: object, context: Context) -> None:
        try:
            gate.check(context)
            await context.send_initial_metadata(())
            async for message in handler(request):
                await context.write(message)
        except Exception as error:  # noqa: BLE001 - any failure is returned to the client; the server continues
            await _abort(context, error)

    return answer


async def _abort(context: Context, error: Exception) -> None:
    if isinstance(error, grpc.aio.AbortError | grpc.aio.UsageError):
        # The call has already ended.
        raise error
    if not is_expected(error):
        LOG.exception("A call failed unexpectedly")
    failure = to_failure(error)
    trailer = ((TRAILER, failure.SerializeToString()),)
    await context.abort(STATUS_OF_REASON[failure.reason], failure.message, trailer)
