"""The trainer's log-probabilities of sampled tokens equal the sampler's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.engine.a_batch import a_loss, no_progress
from tests.inference.sampled_datum import sampled_datum
from tests.inference.serving import MODEL_ID, ask_model

from agentlightning_runtime.contract.batch import AdamParameters, Batch, Datum, TrainedSpan
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.create_engine import create_engine

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.contract.batch import Datum

_TEMPERATURES = (0.5, 1.0, 1.6)


@pytest.mark.parametrize("source", ["random:llama-tiny", "random:qwen2-tiny"])
@pytest.mark.parametrize("lora", [None, LoraSettings(rank=4, alpha=8.0)])
def test_sampler_and_trainer_agree_before_and_after_steps(
    tmp_path: Path, source: str, lora: LoraSettings | None
) -> None:
    engine = create_engine(EngineSettings(base_models={"base": source}, checkpoint_directory=tmp_path, device="cpu"))
    try:
        model = engine.create_model(ModelRequest(MODEL_ID, "base", seed=1, lora=lora))
        seen: list[float] = []
        for version in range(3):
            endpoint = model.endpoint()
            assert endpoint.policy_version == version
            data: list[Datum] = []
            for temperature in _TEMPERATURES:
                answer = ask_model(endpoint.base_url, temperature=temperature, n=4, seed=version, max_tokens=24)
                assert answer.policy_version == version
                data.extend(sampled_datum(answer, choice, temperature) for choice in answer.choices)
            found = model.forward(Batch(data), use_reference=False, progress=no_progress).logprobs
            for mine, datum in zip(found, data, strict=True):
                np.testing.assert_allclose(mine, datum.sampling_logprobs, rtol=0, atol=1e-4)
            result = model.forward_backward(Batch(data), a_loss(), no_progress)
            assert result.metrics["policy/logprob_gap"] <= 1e-5
            seen.append(float(found[0][0]))
            model.optim_step(AdamParameters(learning_rate=0.02))
            model.publish_weights()
        # The steps changed the policy, so the agreement is meaningful.
        assert len(set(seen)) == len(seen)
    finally:
        engine.close()


def test_sampler_and_trainer_agree_on_a_conversation_continued_by_token_ids(tmp_path: Path) -> None:
    engine = create_engine(
        EngineSettings(base_models={"base": "random:qwen2-tiny"}, checkpoint_directory=tmp_path, device="cpu")
    )
    try:
        model = engine.create_model(ModelRequest(MODEL_ID, "base", seed=1))
        url = model.endpoint().base_url
        prompt: list[int] | None = None
        row: list[int] = []
        spans: list[TrainedSpan] = []
        logprobs: list[float] = []
        for turn in range(3):
            extra = {} if prompt is None else {"extra_body": {"prompt_token_ids": prompt}}
            answer = ask_model(url, seed=turn, max_tokens=16, **extra)
            choice = answer.choices[0]
            start = len(answer.prompt_token_ids)
            spans.append(TrainedSpan(start, start + len(choice.token_ids)))
            logprobs.extend(entry.logprob for entry in choice.logprobs.content)
            # Another turn of the user, after tokens that no template would render.
            row = [*answer.prompt_token_ids, *choice.token_ids]
            prompt = [*row, 10, 11, 12]
        values = np.array(logprobs, dtype=np.float32)
        ones = np.ones_like(values)
        datum = Datum(np.array(row, dtype=np.int32), spans, values, ones, ones, 1.0)
        found = model.forward(Batch([datum]), use_reference=False, progress=no_progress).logprobs
        np.testing.assert_allclose(found[0], values, rtol=0, atol=1e-4)
    finally:
        engine.close()
