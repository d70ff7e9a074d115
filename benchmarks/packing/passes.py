"""Training passes over the same batches: sequences packed in a row, padded in rows, and one at a time.

Prints one JSON object: for each workload the sequences' tokens, and for each way the tokens computed and seconds by round.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from agentlightning_runtime.contract.batch import Batch, Datum, ResolvedLoss, TrainedSpan
from agentlightning_runtime.contract.no_inference import NoInference
from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest
from agentlightning_runtime.engine.base.ranks import Ranks
from agentlightning_runtime.engine.loss.loss_definitions import LOSS_DEFINITIONS
from agentlightning_runtime.engine.memory.micro_batch_sizer import MicroBatchSizer
from agentlightning_runtime.engine.torch_engine import TorchEngine

MICRO_BATCH_TOKENS = 2048
VOCABULARY = 2048


def a_datum(tokens: np.ndarray, prompt: int) -> Datum:
    """A response after a prompt, with an advantage of 1 and a weight of 1 for each token."""
    count = len(tokens) - prompt
    ones = np.ones(count, dtype=np.float32)
    return Datum(
        token_ids=tokens.astype(np.int32),
        trained=[TrainedSpan(prompt, len(tokens))],
        sampling_logprobs=-8 * ones,
        advantages=ones,
        weights=ones / 1000,
        temperature=1.0,
    )


def of_lengths(random: np.random.Generator, lengths: np.ndarray) -> Batch:
    """Sequences without common prefixes, half of each a response."""
    return Batch([a_datum(random.integers(0, VOCABULARY, length), max(1, int(length) // 2)) for length in lengths])


def of_groups(random: np.random.Generator, groups: int, siblings: int, prompt: int, response: int) -> Batch:
    """Groups of responses to the same prompt, of lengths around the mean."""
    data: list[Datum] = []
    for _ in range(groups):
        common = random.integers(0, VOCABULARY, prompt)
        for _ in range(siblings):
            own = random.integers(0, VOCABULARY, int(random.integers(response // 2, response * 3 // 2)))
            data.append(a_datum(np.concatenate([common, own]), prompt))
    return Batch(data)


def workloads() -> dict[str, Batch]:
    random = np.random.default_rng(1)
    heavy_tailed = np.clip(random.lognormal(5.0, 1.0, 40), 16, 2000).astype(int)
    # Conversations of agents: most have few turns, some reach the limit.
    turns = np.clip(60 + 90 * random.geometric(0.3, 32), 16, 1500).astype(int)
    return {
        "lengths of a log-normal distribution": of_lengths(random, heavy_tailed),
        "lengths of conversations": of_lengths(random, turns),
        "8 siblings, prompt of 80 % of the tokens": of_groups(random, 2, 8, 480, 120),
    }


def main() -> None:
    rounds = int(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    loss = ResolvedLoss("ppo", next(each.defaults for each in LOSS_DEFINITIONS if each.name == "ppo"))
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "base"
        config = LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=256,
            intermediate_size=704,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
        )
        AutoModelForCausalLM.from_config(config).save_pretrained(base)
        engine = TorchEngine(EngineSettings({"base": str(base)}, Path(name), device="cpu"), NoInference())
        model = engine.create_model(ModelRequest("m", "base", 1))
        settings = model.parts.settings
        ways = {"packed": (True, MICRO_BATCH_TOKENS), "padded": (False, MICRO_BATCH_TOKENS), "alone": (False, 1)}
        found: dict[str, dict[str, object]] = {}
        for workload, batch in workloads().items():
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            # The first round warms up.
            for number in range(rounds + 1):
                for way, (is_packed, tokens) in ways.items():
                    settings.is_packed, settings.sizer = is_packed, MicroBatchSizer(tokens, None, Ranks())
                    started = time.perf_counter()
                    model.forward_backward(batch, loss, lambda _done, _total: None)
                    model.discard_gradients()
                    if number > 0:
                        seconds[way].append(time.perf_counter() - started)
            found[workload] = {"tokens": batch.tokens, "seconds": seconds}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
