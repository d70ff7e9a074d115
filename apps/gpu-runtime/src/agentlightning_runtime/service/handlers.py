"""Handlers of the runtime and inference services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agentlightning_runtime import __version__
from agentlightning_runtime.gen.agentlightning.runtime.v1 import inference_pb2, model_pb2, runtime_pb2
from agentlightning_runtime.service.base.invalid import check_name, invalid
from agentlightning_runtime.service.base.limits import MAX_MESSAGE_BYTES
from agentlightning_runtime.service.base.messages import endpoint_message
from agentlightning_runtime.service.hosting.runtime_host import assert_made

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agentlightning_runtime.contract.results import InferenceState
    from agentlightning_runtime.service.binding import Handlers
    from agentlightning_runtime.service.hosting.runtime_host import RuntimeHost

API_VERSION = "v1"
"""The contract version reported in the capabilities."""

PAUSE_MODES: dict[inference_pb2.PauseMode, Literal["drain", "abort"]] = {
    inference_pb2.PAUSE_MODE_DRAIN: "drain",
    inference_pb2.PAUSE_MODE_ABORT: "abort",
}


def runtime_handlers(host: RuntimeHost) -> Handlers:
    """Capabilities, sessions and metrics."""

    async def create_session(request: runtime_pb2.CreateSessionRequest) -> runtime_pb2.CreateSessionResponse:
        check_name("client_session_key", request.client_session_key)
        return runtime_pb2.CreateSessionResponse(session_id=host.sessions.open(request.client_session_key))

    async def heartbeat(request: runtime_pb2.HeartbeatRequest) -> runtime_pb2.HeartbeatResponse:
        host.touch(request.session_id)
        return runtime_pb2.HeartbeatResponse()

    async def close_session(request: runtime_pb2.CloseSessionRequest) -> runtime_pb2.CloseSessionResponse:
        host.sessions.close(request.session_id)
        return runtime_pb2.CloseSessionResponse()

    async def get_capabilities(request: runtime_pb2.GetCapabilitiesRequest) -> runtime_pb2.GetCapabilitiesResponse:
        del request
        return capabilities_message(host)

    def watch_metrics(request: runtime_pb2.WatchMetricsRequest) -> AsyncIterator[runtime_pb2.WatchMetricsResponse]:
        return host.metrics.follow(request.after_cursor, request.model_id)

    return {
        "GetCapabilities": get_capabilities,
        "CreateSession": create_session,
        "Heartbeat": heartbeat,
        "CloseSession": close_session,
        "WatchMetrics": watch_metrics,
    }


def capabilities_message(host: RuntimeHost) -> runtime_pb2.GetCapabilitiesResponse:
    """Capabilities of the engine and of the protocol."""
    capabilities, limits = host.capabilities, host.limits
    return runtime_pb2.GetCapabilitiesResponse(
        runtime_version=__version__,
        api_versions=[API_VERSION],
        device=capabilities.device,
        base_models=[
            runtime_pb2.BaseModel(
                name=base.name,
                max_context=base.max_context,
                vocab_size=base.vocab_size,
                tokenizer_sha256=base.tokenizer_sha256,
                chat_template_sha256=base.chat_template_sha256,
                max_lora_rank=base.max_lora_rank,
                parameter_count=base.parameter_count,
                lora_target_modules=base.lora_target_modules,
            )
            for base in capabilities.models
        ],
        losses=[
            runtime_pb2.LossInfo(name=loss.name, version=loss.version, defaults=loss.defaults)
            for loss in capabilities.losses
        ],
        max_message_bytes=MAX_MESSAGE_BYTES,
        max_batch_bytes=limits.max_batch_bytes,
        max_batch_tokens=capabilities.max_batch_tokens,
        max_batch_data=limits.max_batch_data,
        max_inflight_bytes=limits.max_inflight_bytes,
        reorder_window=limits.reorder_window,
        heartbeat_interval_ms=limits.heartbeat_interval_ms,
        session_ttl_ms=limits.session_ttl_ms,
        abandoned_model_ttl_ms=limits.abandoned_model_ttl_ms,
        result_ttl_ms=limits.result_ttl_ms,
        features=sorted({*capabilities.features, "metrics"}),
        dtype=capabilities.dtype,
        max_models=capabilities.max_models,
        device_count=capabilities.device_count,
    )


def inference_handlers(host: RuntimeHost) -> Handlers:
    """Control of sampling."""

    async def get_endpoint(request: inference_pb2.GetEndpointRequest) -> inference_pb2.GetEndpointResponse:
        engine = assert_made(host.model(request.model_id))
        return inference_pb2.GetEndpointResponse(endpoint=endpoint_message(await host.thread.aside(engine.endpoint)))

    async def pause(request: inference_pb2.PauseRequest) -> inference_pb2.PauseResponse:
        engine = assert_made(host.owned_model(request.session_id, request.model_id))
        mode = PAUSE_MODES.get(request.mode)
        if mode is None:
            raise invalid("mode", f"is {request.mode}; it must be DRAIN or ABORT")
        return inference_pb2.PauseResponse(state=_state_message(await host.thread.aside(engine.pause, mode)))

    async def resume(request: inference_pb2.ResumeRequest) -> inference_pb2.ResumeResponse:
        engine = assert_made(host.owned_model(request.session_id, request.model_id))
        return inference_pb2.ResumeResponse(state=_state_message(await host.thread.aside(engine.resume)))

    return {"GetEndpoint": get_endpoint, "Pause": pause, "Resume": resume}


def _state_message(state: InferenceState) -> model_pb2.InferenceState:
    return model_pb2.InferenceState(
        is_paused=state.is_paused, in_flight=state.in_flight, policy_version=state.policy_version
    )
