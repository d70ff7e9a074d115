"""Exported weights can be loaded by Transformers and PEFT and compute the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from peft import PeftModel
from tests.engine.a_batch import a_batch, a_datum, a_loss, an_engine, no_progress
from transformers import AutoModelForCausalLM, AutoTokenizer

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.settings import LoraSettings, ModelRequest

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel

LORA = LoraSettings(rank=4, alpha=6.0, target_modules=("q_proj", "down_proj"))


def trained(directory: Path, lora: LoraSettings | None, source: str = "random:llama-tiny") -> TorchModel:
    model = an_engine(directory, base=source).create_model(ModelRequest("m", "base", 3, lora, has_value_head=True))
    for _ in range(3):
        model.forward_backward(a_batch(), a_loss(value_coefficient=1.0), no_progress)
        model.optim_step(AdamParameters(learning_rate=0.02))
    return model


def logprobs_of(causal_lm: Any) -> list[float]:
    datum = a_datum(30, [(4, 30)])
    with torch.no_grad():
        logits = causal_lm(torch.from_numpy(datum.token_ids.astype(np.int64))[None]).logits[0]
    return torch.log_softmax(logits, -1)[torch.arange(3, 29), datum.token_ids[4:]].tolist()


def logprobs_here(model: TorchModel) -> list[float]:
    return (
        model.forward(Batch([a_datum(30, [(4, 30)])]), use_reference=False, progress=no_progress).logprobs[0].tolist()
    )


@pytest.mark.parametrize("lora", [None, LORA])
@pytest.mark.parametrize("source", ["random:llama-tiny", "random:llama-untied", "random:qwen2-tiny"])
def test_whole_model_is_loaded_by_transformers(tmp_path: Path, lora: LoraSettings | None, source: str) -> None:
    model = trained(tmp_path / "c", lora, source)
    out = tmp_path / "out"
    out.mkdir()
    assert model.export_weights("", "safetensors", out) == 3
    loaded = AutoModelForCausalLM.from_pretrained(out)
    assert logprobs_of(loaded) == pytest.approx(logprobs_here(model), abs=1e-4)
    assert AutoTokenizer.from_pretrained(out).encode("hé") == [104, 195, 169]


def test_exported_model_is_a_base_model(tmp_path: Path) -> None:
    model = trained(tmp_path / "c", LORA)
    out = tmp_path / "out"
    out.mkdir()
    model.export_weights("", "safetensors", out)
    again = an_engine(tmp_path / "d", again=str(out)).create_model(ModelRequest("n", "again", 0))
    assert logprobs_here(again) == pytest.approx(logprobs_here(model), abs=1e-4)


def test_adapter_is_loaded_by_peft(tmp_path: Path) -> None:
    model = trained(tmp_path / "c", LORA)
    out = tmp_path / "out"
    out.mkdir()
    model.export_weights("", "peft", out)
    loaded = PeftModel.from_pretrained(model.parts.base.load().frozen_twin(), out)
    assert logprobs_of(loaded) == pytest.approx(logprobs_here(model), abs=1e-5)


def test_checkpoint_is_exported_as_it_was(tmp_path: Path) -> None:
    model = trained(tmp_path / "c", LORA)
    uri, then = model.save_checkpoint("a", b"").result().uri, logprobs_here(model)
    model.forward_backward(a_batch(1), a_loss(), no_progress)
    model.optim_step(AdamParameters(learning_rate=0.02))
    out = tmp_path / "out"
    out.mkdir()
    assert model.export_weights(uri, "safetensors", out) == 3
    assert logprobs_of(AutoModelForCausalLM.from_pretrained(out)) == pytest.approx(then, abs=1e-4)


def test_adapter_of_a_model_without_lora_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no LoRA"):
        trained(tmp_path, None).export_weights("", "peft", tmp_path)
