"""Trains SmolLM2 on the tasks of this example with TRL's GRPOTrainer: initial weights, tasks, rewards and settings are those of `agl.config.ts`.

Writes the log to standard output and the held-out rewards to `--held-out`, in the formats of the report.
On a machine with a GPU it trains there, in bfloat16.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import PeftModel
from transformers import PrinterCallback, TrainerCallback, set_seed
from trl import GRPOConfig, GRPOTrainer

from agentlightning_runtime.engine.models.base_model import BaseModel
from agentlightning_runtime.inference.text.chat_template import ChatTemplate
from agentlightning_runtime.inference.tool_formats.hermes import HermesFormat

GROUP_SIZE = 8
TASKS_PER_STEP = 8
STEPS = 6
MAX_TOKENS = 64
TEMPERATURE = 0.8
HELD_OUT_RESPONSES = 2
END_OF_CALL = "</tool_call>"

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", required=True, help="the GGUF file")
parser.add_argument("--adapter", required=True, help="the warm-up's adapter, written by `export --format peft`")
parser.add_argument("--order-of", required=True, help="the run whose order of tasks is repeated")
parser.add_argument("--run", required=True, help="the id of this run in the log")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--held-out", type=Path, required=True, help="the file that the held-out rewards are appended to")
options = parser.parse_args()


class Tasks:
    """The tasks of the example, and the rewards of its checker."""

    def __init__(self, order_of: str) -> None:
        """Starts the checker."""
        script = Path(__file__).parent / "serve-tasks.ts"
        self._server = subprocess.Popen(
            ["node", str(script), "--run", order_of], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        tasks = self._read()
        self.train, self.test = tasks["train"], tasks["test"]

    def rewards(self, ids: list[str], texts: list[str]) -> list[float]:
        """The reward of each response, which ends with the first call as in the example's agent."""
        rewards: list[float] = []
        for task, text in zip(ids, texts, strict=True):
            calls = HermesFormat().parse(text.split(END_OF_CALL)[0]).calls
            made = [{"name": call.name, "arguments": call.arguments} for call in calls]
            self._server.stdin.write(json.dumps({"id": task, "calls": made}) + "\n")
            self._server.stdin.flush()
            rewards.append(self._read())
        return rewards

    def close(self) -> None:
        """Ends the checker."""
        self._server.stdin.close()
        self._server.wait()

    def _read(self) -> Any:
        return json.loads(self._server.stdout.readline())


def log(event: str, **fields: Any) -> None:
    """Writes an event of the log."""
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


class StepLog(TrainerCallback):
    """Logs the mean reward and the seconds of each step."""

    def __init__(self) -> None:
        """Creates a log."""
        self.rewards: list[float] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Starts the clocks."""
        self._started = time.monotonic()

    def on_step_end(self, _arguments: Any, state: Any, *_: Any, **__: Any) -> None:
        """Logs a step."""
        reward = sum(self.rewards) / len(self.rewards)
        metrics = {"calls/total": len(self.rewards)}
        log("step", step=state.global_step, reward=reward, seconds=time.monotonic() - self._started, metrics=metrics)
        self.rewards.clear()


@torch.no_grad()
def evaluate(phase: str) -> None:
    """Samples responses for the held-out tasks, and appends their rewards to the file."""
    model.eval()
    rewards: dict[str, list[float]] = {task["id"]: [] for task in tasks.test}
    for first in range(0, len(tasks.test), TASKS_PER_STEP):
        batch = tasks.test[first : first + TASKS_PER_STEP]
        prompts = tokenizer([prompt_of(task) for task in batch], return_tensors="pt", padding=True).to(model.device)
        output = model.generate(
            **prompts,
            max_new_tokens=MAX_TOKENS,
            do_sample=True,
            temperature=TEMPERATURE,
            top_k=0,
            num_return_sequences=HELD_OUT_RESPONSES,
            stop_strings=[END_OF_CALL],
            tokenizer=tokenizer,
        )
        texts = tokenizer.batch_decode(output[:, prompts["input_ids"].shape[1] :], skip_special_tokens=True)
        ids = [task["id"] for task in batch for _ in range(HELD_OUT_RESPONSES)]
        for task, reward in zip(ids, tasks.rewards(ids, texts), strict=True):
            rewards[task].append(reward)
    with options.held_out.open("a") as file:
        for task, values in rewards.items():
            line = {"run": options.run, "phase": phase, "task": task, "rewards": sorted(values, reverse=True)}
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    means = [sum(values) / len(values) for values in rewards.values()]
    log("evaluated", phase=phase, reward=sum(means) / len(means), rollouts=HELD_OUT_RESPONSES * len(means))


def prompt_of(task: dict[str, Any]) -> str:
    """The prompt as the runtime writes it."""
    return tokenizer.decode(template.render(task["messages"], task["tools"]))


def reward(completions: list[str], id: list[str], **_: Any) -> list[float]:  # noqa: A002
    """The rewards of a batch, in TRL's form."""
    rewards = tasks.rewards(id, completions)
    step_log.rewards.extend(rewards)
    return rewards


started = time.monotonic()
has_gpu = torch.cuda.is_available()
device = torch.device("cuda" if has_gpu else "cpu")
loaded = BaseModel("smollm2", options.model, device, torch.bfloat16).load()
tokenizer = loaded.tokenizer
tokenizer.padding_side = "left"
tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
template = ChatTemplate(tokenizer)
model = PeftModel.from_pretrained(loaded.causal_lm, options.adapter, is_trainable=True)

tasks = Tasks(options.order_of)
step_log = StepLog()
set_seed(options.seed)
settings = GRPOConfig(
    output_dir="node_modules/.cache/trl",
    seed=options.seed,
    use_cpu=not has_gpu,
    bf16=has_gpu,
    learning_rate=3e-4,
    lr_scheduler_type="constant",
    adam_beta2=0.95,
    max_grad_norm=1.0,
    max_steps=STEPS,
    num_generations=GROUP_SIZE,
    per_device_train_batch_size=GROUP_SIZE,
    gradient_accumulation_steps=TASKS_PER_STEP,
    activation_checkpointing=False,
    shuffle_dataset=False,
    max_completion_length=MAX_TOKENS,
    temperature=TEMPERATURE,
    loss_type="dapo",
    beta=0.0,
    entropy_coef=0.01,
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
)
trainer = GRPOTrainer(
    model=model,
    reward_funcs=reward,
    args=settings,
    train_dataset=Dataset.from_list([{"prompt": prompt_of(task), "id": task["id"]} for task in tasks.train]),
    processing_class=tokenizer,
    callbacks=[step_log],
)
trainer.remove_callback(PrinterCallback)
log("started", run=options.run, seed=options.seed, steps=STEPS)
evaluate("before")
trainer.train()
evaluate("after")
tasks.close()
log("done", seconds=time.monotonic() - started, cpu_seconds=time.process_time())
