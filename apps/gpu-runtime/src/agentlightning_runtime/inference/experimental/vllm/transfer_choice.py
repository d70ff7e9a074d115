"""Chooses between the weight transfer of vLLM and files."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.inference.experimental.vllm.vllm_process import has_vllm
from agentlightning_runtime.inference.experimental.vllm.weight_transfer import WeightTransfer

if TYPE_CHECKING:
    from agentlightning_runtime.contract.inference_backend import ServedModel, WeightStream
    from agentlightning_runtime.inference.experimental.vllm.replicas import Replicas

_LOG = logging.getLogger(__name__)


def choose_transfer(replicas: Replicas, model: ServedModel, *, prefers_files: bool) -> WeightTransfer | None:
    """The weight transfer that the servers were started with; None where weights go by file.

    Args:
        replicas: The servers.
        model: A fully trained model.
        prefers_files: Whether the user has given a folder for weights.
    """
    found = "--sampler-folder is given" if prefers_files else _transfer_or_reason(replicas, model)
    if isinstance(found, WeightTransfer):
        _LOG.info('The weights of "%s" go to vLLM over %s', model.model_id, found.method.upper())
        return found
    _LOG.info('The weights of "%s" go to %s as files: %s', model.model_id, ", ".join(replicas.root_urls), found)
    return None


def _transfer_or_reason(replicas: Replicas, model: ServedModel) -> WeightTransfer | str:
    """The transfer, or the reason for files."""
    weights = model.stream
    if weights is None or not on_gpu(weights):
        return "the trainer does not compute on a GPU"
    if not replicas.can_transfer:
        return "one is not vLLM"
    if not has_vllm():
        return "vLLM is not installed here, which sends them"
    methods = {_method(info) for info in replicas.ask("/server_info?config_format=json")}
    method = methods.pop()
    if methods or method not in ("nccl", "ipc"):
        return "they were not all started with the same --weight-transfer-config, nccl or ipc"
    workers = [int(each["world_size"]) for each in replicas.ask("/get_world_size")]
    if method == "ipc" and (weights.is_sharded or sum(workers) > 1):
        return "CUDA IPC connects one process of the trainer and one worker of vLLM"
    return WeightTransfer(method, replicas, workers)


def on_gpu(weights: WeightStream) -> bool:
    """Whether the trainer's device is one that NCCL and CUDA IPC read."""
    return weights.device.type == "cuda"


def _method(info: dict[str, Any]) -> str:
    """What vLLM calls the backend of its weight transfer; empty: none."""
    config = info["vllm_config"].get("weight_transfer_config") or {}
    return str(config.get("backend", ""))
