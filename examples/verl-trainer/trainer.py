"""The trainer of Agent Lightning 1.0 on one machine without a GPU.

Rollouts, batches, advantages and losses are those of the package `agentlightning` 1.0 and of verl: `AglRolloutManager`,
`RolloutAdapter`, `compute_rollout_level_advantage`, `compute_policy_loss_per_rollout_mean`. Only what needs a cluster is
replaced: instead of verl's workers on Ray one optimizer in this process, instead of vLLM the sampler of
`agentlightning-runtime`. The model is a small one with random weights.
"""

from __future__ import annotations

import argparse

import torch
from agentlightning.verl.agl_rollout_manager import AglRolloutManager
from agentlightning.verl.per_rollout_loss import compute_policy_loss_per_rollout_mean, normalize_advantages_by_rollout
from agentlightning.verl.rollout_adapter import RolloutAdapter
from agentlightning.verl.rollout_level_advantage import compute_rollout_level_advantage
from verl.trainer.ppo.core_algos import AdvantageEstimator
from verl.utils.torch_functional import logprobs_from_logits
from verl.workers.config import ActorConfig

from agentlightning_runtime.contract.inference_backend import ServedModel
from agentlightning_runtime.engine.loading.random_model import load_random_model
from agentlightning_runtime.inference.builtin_backend import BuiltinBackend
from agentlightning_runtime.inference.http.http_server import EndpointSettings

MODEL = "policy"
QUESTIONS = ["A number?", "Which number?"]
GROUP_SIZE = 16
PROMPT_LENGTH = 160
RESPONSE_LENGTH = 96


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--url", required=True)
    arguments.add_argument("--steps", type=int, default=40)
    flags = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    loaded = load_random_model("random:llama-tiny")
    served = ServedModel(MODEL, lambda: loaded.causal_lm, loaded.tokenizer, loaded.output_size)
    backend = BuiltinBackend(EndpointSettings())
    backend.serve(served, 0)
    try:
        train(flags.url, flags.steps, backend, served)
    finally:
        backend.close()


def train(url: str, steps: int, backend: BuiltinBackend, served: ServedModel) -> None:
    """Rollouts, a step, new weights, and again."""
    optimizer = torch.optim.AdamW(served.module().parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(1, steps + 1):
        manager = AglRolloutManager(
            agl_base_url=url, agl_key="", model=MODEL, step=step, train_rollout_n=GROUP_SIZE, poll_interval_seconds=0.05
        )
        manager.register_model([backend.base_url])
        completed = manager.enqueue_and_wait_until_completed({"question": QUESTIONS}, is_train=True)
        metrics = train_on(completed, served, optimizer, step)
        # As verl does it: no call is under way while the weights change.
        manager.client.post_with_retry("/proxy/pause", json={"reason": "weights"}).raise_for_status()
        backend.publish(served, step)
        manager.client.post_with_retry("/proxy/resume").raise_for_status()
        print(" ".join([f"step {step}", *(f"{name} {value:.4g}" for name, value in metrics.items())]), flush=True)


def train_on(completed: list, served: ServedModel, optimizer: torch.optim.Optimizer, step: int) -> dict[str, float]:
    """One step of the per-rollout mean loss of 1.0 over the rollouts."""
    adapter = RolloutAdapter(
        max_prompt_length=PROMPT_LENGTH,
        max_response_length=RESPONSE_LENGTH,
        device=torch.device("cpu"),
        pad_token_id=258,
        trace_aggregator_level="trajectory",
    )
    batch, metrics = adapter.get_train_data_batch(completed, global_steps=step)
    batch.batch["token_level_rewards"] = batch.batch["token_level_scores"].float()
    batch, _ = compute_rollout_level_advantage(
        batch, adv_estimator=AdvantageEstimator.GRPO, gamma=1.0, lam=1.0, num_repeat=GROUP_SIZE
    )
    mask = batch.batch["response_mask"].float()
    rollout_ids = list(batch.non_tensor_batch["rollout_id_list"])
    advantages = normalize_advantages_by_rollout(
        batch.batch["advantages"].float(), mask, rollout_ids, num_trained_rows=len(rollout_ids)
    )
    logprobs = response_logprobs(served.module(), batch.batch)
    sampled = batch.batch["rollout_log_probs"]
    config = ActorConfig(strategy="fsdp", rollout_n=GROUP_SIZE, ppo_micro_batch_size_per_gpu=1)
    loss, _ = compute_policy_loss_per_rollout_mean(sampled, logprobs, advantages, mask, config=config)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(served.module().parameters(), 1.0)
    optimizer.step()
    gap = ((logprobs.detach() - sampled).abs() * mask).sum() / mask.sum()
    return {
        "reward": metrics["training/reward"],
        "rollouts": len(completed),
        "rows": len(rollout_ids),
        "|Δlogp|": float(gap),
    }


def response_logprobs(causal_lm: torch.nn.Module, batch) -> torch.Tensor:
    """Log-probabilities of the responses' tokens under the current weights."""
    length = batch["responses"].shape[1]
    logits = causal_lm(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], position_ids=batch["position_ids"]
    ).logits
    return logprobs_from_logits(logits[:, -length - 1 : -1], batch["responses"])


if __name__ == "__main__":
    main()
