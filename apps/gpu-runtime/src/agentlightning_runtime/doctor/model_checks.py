"""Checks that models load and train."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from agentlightning_runtime.contract.batch import AdamParameters, Batch, Datum, ResolvedLoss, TrainedSpan
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest
from agentlightning_runtime.doctor.check import Check

if TYPE_CHECKING:
    from agentlightning_runtime.contract.engine import EngineFactory, RuntimeEngine
    from agentlightning_runtime.contract.settings import BaseModelInfo, EngineSettings

TRIAL_TOKENS = 64
TRIAL_RANK = 8


def model_checks(factory: EngineFactory, settings: EngineSettings) -> list[Check]:
    """Loads every model and takes one small training step with it."""
    try:
        engine = factory(settings)
    except Exception as error:  # noqa: BLE001 - the doctor reports every exception of a library
        return [_failed("engine", error)]
    try:
        capabilities = engine.capabilities()
        return [_trained(engine, base) for base in capabilities.models]
    except Exception as error:  # noqa: BLE001 - as above
        return [_failed("models", error)]
    finally:
        engine.close()


def _trained(engine: RuntimeEngine, base: BaseModelInfo) -> Check:
    name = f"model {base.name}"
    lora = LoraSettings(rank=TRIAL_RANK, alpha=TRIAL_RANK) if base.max_lora_rank >= TRIAL_RANK else None
    request = ModelRequest(model_id="doctor", base_model=base.name, seed=1, lora=lora)
    began = time.monotonic()
    try:
        model = engine.create_model(request)
        try:
            loss = ResolvedLoss("cross_entropy", _defaults(engine, "cross_entropy"))
            found = model.forward_backward(_trial_batch(base), loss, lambda _done, _total: None)
            model.optim_step(AdamParameters(learning_rate=1e-5))
        finally:
            model.unload()
    except Exception as error:  # noqa: BLE001 - as above
        return _failed(name, error)
    size = f"{base.parameter_count / 1e6:.3g} million weights, " if base.parameter_count else ""
    what = f"LoRA of rank {TRIAL_RANK}" if lora else "all weights"
    seconds = time.monotonic() - began
    text = f"{size}context {base.max_context}, vocabulary {base.vocab_size}; a step of {what} took {seconds:.1f} s"
    return Check(name, "ok", f"{text}, loss {found.loss:.3f}")


def _trial_batch(base: BaseModelInfo) -> Batch:
    count = min(TRIAL_TOKENS, base.max_context)
    ids = (np.arange(count) % min(base.vocab_size, 1_000)).astype(np.int32)
    numbers = np.zeros(count - 1, dtype=np.float32)
    datum = Datum(
        token_ids=ids,
        trained=[TrainedSpan(1, count)],
        sampling_logprobs=numbers,
        advantages=numbers,
        weights=np.full(count - 1, 1 / (count - 1), dtype=np.float32),
        temperature=1.0,
    )
    return Batch([datum])


def _defaults(engine: RuntimeEngine, loss: str) -> dict[str, float]:
    return dict(next(known.defaults for known in engine.capabilities().losses if known.name == loss))


def _failed(name: str, error: Exception) -> Check:
    if isinstance(error, EngineError):
        return Check(
            name, "problem", error.message, error.remedy or "Correct the reported value and run the doctor again"
        )
    remedy = "Check the name or path of the model, the access to it (huggingface-cli login), and the packages above"
    return Check(name, "problem", f"{type(error).__name__}: {error}", remedy)
