"""TRL's GRPO trainer on one thread of the CPU, with the GPU runtime's model: samples answers, computes gradients, steps.

The first line of input is one JSON object: {"weights", "answers", "answerTokens", "group", "temperature", "steps"}. Every
further line is answered with one line when a step was done: {"measured": seconds}.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from agentlightning_runtime.engine.loading.embedded_checkpoint import load_embedded_checkpoint


class StepTimes(TrainerCallback):
    """Takes a step per request and returns its duration."""

    def __init__(self) -> None:
        self._began = 0.0

    def on_step_begin(self, *_args, **_more) -> None:
        if sys.stdin.readline() == "":
            sys.exit(0)
        self._began = time.perf_counter()

    def on_step_end(self, *_args, **_more) -> None:
        print(json.dumps({"measured": time.perf_counter() - self._began}), flush=True)


def main() -> None:
    order = json.loads(sys.stdin.readline())
    torch.set_num_threads(1)
    loaded = load_embedded_checkpoint(Path(order["weights"]))
    steps = order["steps"]
    prompts = [[{"role": "user", "content": f"Tell me of {index}."}] for index in range(steps * order["answers"])]
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=False,
            per_device_train_batch_size=order["answers"],
            num_generations=order["group"],
            max_completion_length=order["answerTokens"],
            max_steps=steps,
            temperature=float(order["temperature"]),
            learning_rate=1e-6,
            gradient_checkpointing=False,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=loaded.causal_lm,
            processing_class=loaded.tokenizer,
            reward_funcs=[lambda completions, **_: [float(index % 2) for index in range(len(completions))]],
            args=config,
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            callbacks=[StepTimes()],
        )
        trainer.train()


main()
