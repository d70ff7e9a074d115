"""Parts of a model's state as messages of the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentlightning_runtime.gen.agentlightning.runtime.v1 import model_pb2
from agentlightning_runtime.service.base.clock import to_timestamp

if TYPE_CHECKING:
    from agentlightning_runtime.contract.results import Checkpoint, Endpoint, ProbeResult
    from agentlightning_runtime.contract.settings import LoraSettings


def lora_message(lora: LoraSettings | None) -> model_pb2.LoraConfig | None:
    """A LoRA as a message of the contract."""
    if lora is None:
        return None
    return model_pb2.LoraConfig(rank=lora.rank, alpha=lora.alpha, target_modules=lora.target_modules)


def checkpoint_message(checkpoint: Checkpoint) -> model_pb2.CheckpointInfo:
    """A checkpoint as a message of the contract."""
    return model_pb2.CheckpointInfo(
        uri=checkpoint.uri,
        name=checkpoint.name,
        step=checkpoint.step,
        policy_version=checkpoint.policy_version,
        size_bytes=checkpoint.size_bytes,
        create_time=to_timestamp(checkpoint.created_at_ms),
        client_state=checkpoint.client_state,
    )


def endpoint_message(endpoint: Endpoint) -> model_pb2.InferenceEndpoint:
    """An endpoint as a message of the contract."""
    message = model_pb2.InferenceEndpoint(
        base_url=endpoint.base_url, model=endpoint.model, policy_version=endpoint.policy_version
    )
    if endpoint.weights is not None:
        message.weights.digest = endpoint.weights.digest
        if endpoint.weights.probe is not None:
            message.weights.probe.CopyFrom(probe_message(endpoint.weights.probe))
    return message


def probe_message(probe: ProbeResult) -> model_pb2.WeightProbe:
    """A comparison of sampler and trainer as a message of the contract."""
    return model_pb2.WeightProbe(
        logprob_gap=probe.logprob_gap, max_logprob_gap=probe.max_logprob_gap, tokens=probe.tokens
    )
