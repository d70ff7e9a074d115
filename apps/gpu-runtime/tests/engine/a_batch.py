"""Batches and engines for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from agentlightning_runtime.contract.batch import Batch, Datum, ResolvedLoss, TrainedSpan
from agentlightning_runtime.contract.results import Endpoint, InferenceState, PauseMode
from agentlightning_runtime.contract.settings import EngineSettings
from agentlightning_runtime.engine.loss.loss_definitions import LOSS_DEFINITIONS
from agentlightning_runtime.engine.torch_engine import TorchEngine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentlightning_runtime.contract.inference_backend import ProbeResponse, ServedModel


class SilentBackend:
    """A backend without serving that records the versions it receives."""

    def __init__(self) -> None:
        self.versions: dict[str, list[int]] = {}

    def serve(self, model: ServedModel, version: int) -> None:
        self.versions[model.model_id] = [version]

    def publish(self, model: ServedModel, version: int) -> None:
        self.versions[model.model_id].append(version)

    def probe(self, model_id: str, prompts: Sequence[Sequence[int]], max_tokens: int) -> Sequence[ProbeResponse]:
        return ()

    def endpoint(self, model_id: str) -> Endpoint:
        return Endpoint("http://127.0.0.1:1/v1", model_id, self.versions[model_id][-1])

    def pause(self, model_id: str, mode: PauseMode) -> InferenceState:
        return InferenceState(mode == "drain", 0, self.versions[model_id][-1])

    def resume(self, model_id: str) -> InferenceState:
        return InferenceState(is_paused=False, in_flight=0, policy_version=self.versions[model_id][-1])

    def begin_training(self) -> bool:
        return False

    def end_training(self) -> None:
        pass

    def remove(self, model_id: str) -> None:
        del self.versions[model_id]

    def close(self) -> None:
        self.versions.clear()


def an_engine(directory: Path, *, micro_batch_tokens: int | None = None, **sources: str) -> TorchEngine:
    settings = EngineSettings(
        base_models={"tiny": "random:llama-tiny", **sources},
        checkpoint_directory=directory,
        device="cpu",
        micro_batch_tokens=micro_batch_tokens,
    )
    return TorchEngine(settings, SilentBackend())


def a_loss(name: str = "importance_sampling", **parameters: float) -> ResolvedLoss:
    defaults = next(each.defaults for each in LOSS_DEFINITIONS if each.name == name)
    return ResolvedLoss(name, {**defaults, **parameters})


def a_datum(length: int, trained: list[tuple[int, int]], *, seed: int = 0, temperature: float = 1.0) -> Datum:
    """A sequence of random bytes with plausible numbers for every trained token."""
    random = np.random.default_rng([seed, length])
    count = sum(end - start for start, end in trained)

    def column(low: float, high: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return random.uniform(low, high, count).astype(np.float32)

    return Datum(
        token_ids=random.integers(0, 256, length).astype(np.int32),
        trained=[TrainedSpan(start, end) for start, end in trained],
        sampling_logprobs=column(-6, -4),
        advantages=column(-2, 2),
        weights=column(0.1, 1),
        temperature=temperature,
        reference_logprobs=column(-6, -4),
        value_targets=column(-1, 1),
        sampling_values=column(-1, 1),
    )


def a_batch(seed: int = 0) -> Batch:
    """Eight sequences of different lengths and temperatures, some with two trained intervals."""
    lengths = [9, 30, 12, 5, 60, 33, 20, 41]
    return Batch(
        [
            a_datum(
                length,
                [(2, 4), (length - 2, length)] if length > 10 else [(length - 3, length)],
                seed=seed + at,
                temperature=0.7 if at % 3 == 0 else 1.0,
            )
            for at, length in enumerate(lengths)
        ]
    )


def with_prompt(prompt: Datum, length: int, seed: int) -> Datum:
    """A sequence that begins with the tokens of another."""
    common = len(prompt.token_ids)
    datum = a_datum(common + length, [(common, common + length)], seed=seed)
    return replace(datum, token_ids=np.concatenate([prompt.token_ids, datum.token_ids[common:]]))


def siblings() -> Batch:
    """Two groups with a common system prompt, a sequence that continues another, and one alone."""
    system = a_datum(40, [(39, 40)], seed=1)
    groups = [with_prompt(system, 30, seed) for seed in (2, 3)]
    data = [with_prompt(prompt, 5 + 7 * at, 10 + at) for prompt in groups for at in range(3)]
    return Batch([*data, with_prompt(data[0], 50, 30), a_datum(60, [(30, 60)], seed=31), data[4], *a_batch().data])


def no_progress(done: int, total: int) -> None:
    assert 0 <= done <= total
