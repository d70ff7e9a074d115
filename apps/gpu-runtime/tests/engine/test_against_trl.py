"""Losses and gradients against TRL's GRPOTrainer, on the same weights and tokens. Runs where TRL is installed."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tests.engine.a_batch import a_loss, an_engine, no_progress

from agentlightning_runtime.contract.batch import Batch, Datum, TrainedSpan
from agentlightning_runtime.contract.settings import ModelRequest

if TYPE_CHECKING:
    from pathlib import Path

    from agentlightning_runtime.engine.torch_model import TorchModel

trl = pytest.importorskip("trl", reason="TRL is not installed")
datasets = pytest.importorskip("datasets")

PROMPT = 6
LENGTHS = (9, 4, 7, 2)
ADVANTAGES = (1.3, -0.7, 0.4, -1.1)

CASES: list[tuple[str, dict[str, Any], str, dict[str, float], str]] = [
    # TRL's name and settings; the contract's name and parameters; the reduction that the weights express.
    ("grpo", {"epsilon": 0.2, "epsilon_high": 0.28}, "ppo", {"clip_high": 0.28, "dual_clip": 0}, "mean of means"),
    ("bnpo", {"epsilon": 0.2}, "ppo", {"dual_clip": 0}, "token mean"),
    ("bnpo", {"epsilon": 1e9}, "importance_sampling", {}, "token mean"),
    ("bnpo", {"beta": 0.3}, "ppo", {"dual_clip": 0, "kl_coefficient": 0.3}, "token mean"),
    ("cispo", {"epsilon_high": 1.2}, "cispo", {"clip_low": 1, "clip_high": 0.2}, "token mean"),
    (
        "grpo",
        {"importance_sampling_level": "sequence", "epsilon": 0.1, "epsilon_high": 0.12},
        "gspo",
        {"clip_low": 0.1, "clip_high": 0.12},
        "mean of means",
    ),
]


def batch_for(model: TorchModel, reduction: str) -> Batch:
    """Four completions whose sampling log-probabilities differ from the model's by up to a half."""
    random = np.random.default_rng(5)
    data: list[Datum] = []
    for length, advantage in zip(LENGTHS, ADVANTAGES, strict=True):
        weight = 1 / (len(LENGTHS) * length) if reduction == "mean of means" else 1 / sum(LENGTHS)
        data.append(
            Datum(
                token_ids=random.integers(0, 256, PROMPT + length).astype(np.int32),
                trained=[TrainedSpan(PROMPT, PROMPT + length)],
                sampling_logprobs=np.zeros(length, np.float32),
                advantages=np.full(length, advantage, np.float32),
                weights=np.full(length, weight, np.float32),
                temperature=1.0,
            )
        )
    scored = model.forward(Batch(data), use_reference=False, progress=no_progress).logprobs
    return Batch(
        [
            replace(
                datum,
                sampling_logprobs=logprobs - random.uniform(-0.5, 0.5, len(logprobs)).astype(np.float32),
                reference_logprobs=logprobs - random.uniform(-0.5, 0.5, len(logprobs)).astype(np.float32),
            )
            for datum, logprobs in zip(data, scored, strict=True)
        ]
    )


def no_reward(completions: list[str], **_: Any) -> list[float]:
    return [0.0] * len(completions)


def padded(rows: list[Any], fill: float, dtype: torch.dtype) -> torch.Tensor:
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row.tolist(), *[fill] * (longest - len(row))] for row in rows], dtype=dtype)


def trl_inputs(batch: Batch) -> dict[str, torch.Tensor]:
    completions = [datum.token_ids[PROMPT:] for datum in batch.data]
    return {
        "prompt_ids": torch.tensor(np.stack([datum.token_ids[:PROMPT] for datum in batch.data]), dtype=torch.long),
        "prompt_mask": torch.ones(len(batch.data), PROMPT, dtype=torch.long),
        "completion_ids": padded(completions, 0, torch.long),
        "completion_mask": padded([np.ones(len(row)) for row in completions], 0, torch.long),
        "advantages": torch.tensor([float(datum.advantages[0]) for datum in batch.data]),
        "old_per_token_logps": padded([datum.sampling_logprobs for datum in batch.data], 0, torch.float32),
        "ref_per_token_logps": padded([datum.reference_logprobs for datum in batch.data], 0, torch.float32),
        "num_items_in_batch": torch.tensor(sum(LENGTHS)),
    }


@pytest.mark.parametrize(("loss_type", "options", "name", "parameters", "reduction"), CASES)
def test_loss_and_gradients_are_those_of_trl(
    tmp_path: Path, loss_type: str, options: dict[str, Any], name: str, parameters: dict[str, float], reduction: str
) -> None:
    model = an_engine(tmp_path).create_model(ModelRequest("m", "tiny", 3))
    batch = batch_for(model, reduction)
    ours = model.forward_backward(batch, a_loss(name, **parameters), no_progress)
    base = model.parts.base.load()
    trainer = trl.GRPOTrainer(
        model=copy.deepcopy(base.causal_lm).requires_grad_(requires_grad=True),
        reward_funcs=no_reward,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path / "trl"),
            use_cpu=True,
            bf16=False,
            report_to=[],
            per_device_train_batch_size=4,
            num_generations=4,
            loss_type=loss_type,
            gradient_checkpointing=False,
            beta=0.0,
            # When enabled, it multiplies the KL term by the ratio; the contract adds it without a factor.
            use_bias_correction_kl=False,
            **{option: value for option, value in options.items() if option != "beta"},
        ),
        train_dataset=datasets.Dataset.from_list([{"prompt": "a"}]),
        processing_class=base.tokenizer,
    )
    # Set here: the constructor would load a reference model.
    trainer.beta = options.get("beta", 0.0)
    trainer.current_gradient_accumulation_steps = 1
    theirs = trainer._compute_loss(trainer.model, trl_inputs(batch))
    theirs.backward()
    assert ours.loss == pytest.approx(theirs.item(), rel=1e-4)
    for weight_name, weight in trainer.model.named_parameters():
        found = model.weights[f"causal_lm.{weight_name}"].grad
        assert found is not None
        assert (found - weight.grad).norm() <= 1e-4 * weight.grad.norm()
