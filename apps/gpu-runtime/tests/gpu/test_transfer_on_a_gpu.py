"""All weights go into vLLM on a GPU by its weight transfer: `python -m pytest -m gpu` where vLLM is installed."""

from __future__ import annotations

import importlib.util
import logging
from typing import TYPE_CHECKING

import pytest
import torch
from tests.engine.a_batch import a_batch
from tests.vllm.real_vllm import ARGUMENTS, a_folder_with_a_model, step

from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest, SamplerPlacement
from agentlightning_runtime.create_engine import create_engine

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed"),
]

_PLACES = {"IPC": SamplerPlacement(is_colocated=True), "NCCL": SamplerPlacement(gpus=(1,))}


@pytest.mark.parametrize("method", ["IPC", "NCCL"])
def test_each_publication_is_transferred(method: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    if method == "NCCL" and torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    caplog.set_level(logging.INFO)
    settings = EngineSettings(
        base_models={"base": a_folder_with_a_model(tmp_path / "base", is_tied=True)},
        checkpoint_directory=tmp_path / "checkpoints",
        device="cuda:0",
        dtype="bfloat16",
        vllm_arguments=ARGUMENTS,
        sampler=_PLACES[method],
    )
    engine = create_engine(settings)
    try:
        model = engine.create_model(ModelRequest("policy", "base", seed=1))
        assert f"go to vLLM over {method}" in caplog.text
        for version in range(1, 4):
            step(model, a_batch().data)
            # The probe of each publication compares vLLM with the trainer.
            assert model.publish_weights().policy_version == version
    finally:
        engine.close()
