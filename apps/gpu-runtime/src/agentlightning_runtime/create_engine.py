"""Creates the engine on PyTorch with its inference endpoint, in one process or in each of several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from transformers.utils import logging as transformers_logging

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.no_inference import NoInference
from agentlightning_runtime.engine.base.device import choose_device
from agentlightning_runtime.engine.base.ranks import Ranks, is_one_of_several, join_ranks, local_rank
from agentlightning_runtime.engine.experimental.bitsandbytes_package import require_bitsandbytes
from agentlightning_runtime.engine.experimental.data_parallel import LeadingEngine, follow
from agentlightning_runtime.engine.torch_engine import TorchEngine
from agentlightning_runtime.inference.open_backend import open_inference

if TYPE_CHECKING:
    from agentlightning_runtime.contract.settings import EngineSettings


def create_engine(settings: EngineSettings) -> TorchEngine | LeadingEngine:
    """Creates the engine and starts its inference endpoint; of several ranks, on rank 0.

    Raises:
        EngineError: INVALID when the device does not exist, PRECONDITION when bitsandbytes is needed and not installed.
    """
    transformers_logging.disable_progress_bar()
    settings, ranks = _join(settings)
    engine = TorchEngine(settings, open_inference(settings), ranks)
    return LeadingEngine(engine, ranks) if ranks.count > 1 else engine


def follow_first_process(settings: EngineSettings) -> None:
    """Runs the ranks above 0 until rank 0 stops.

    Raises:
        EngineError: as `create_engine`.
    """
    transformers_logging.disable_progress_bar()
    settings, ranks = _join(settings)
    follow(TorchEngine(settings, NoInference(), ranks), ranks)


def _join(settings: EngineSettings) -> tuple[EngineSettings, Ranks]:
    require_bitsandbytes(settings)
    _check_sharded_base(settings)
    if is_one_of_several() and torch.device(settings.device if settings.device != "auto" else "cuda").type == "cuda":
        settings = replace(settings, device=f"cuda:{local_rank()}" if torch.cuda.is_available() else settings.device)
    return settings, join_ranks(choose_device(settings.device))


def _check_sharded_base(settings: EngineSettings) -> None:
    if settings.shard_base and settings.load_in_4bit:
        message = "--shard-base cannot shard a base in 4 bits"
        raise EngineError(EngineErrorReason.INVALID, message, remedy="Remove --load-in-4bit or --shard-base")
    if settings.shard_base and not is_one_of_several():
        message = "--shard-base needs several processes, and this is the only one"
        remedy = "Start the runtime with torchrun, a process for each GPU, or remove the flag"
        raise EngineError(EngineErrorReason.PRECONDITION, message, remedy=remedy)
