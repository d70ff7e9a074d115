"""Plain PyTorch and Transformers on one thread: a plain training loop, and `generate`.

The first line of input is one JSON object: {"weights", "rows", "rowTokens", "promptTokens", "answers", "answerTokens"}.
Every further line is answered with one line, {"measured": ...}: "train" with the seconds of a step, "sample" and a
temperature with tokens a second.
"""

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from agentlightning_runtime.engine.loading.embedded_checkpoint import load_embedded_checkpoint


def main() -> None:
    order = json.loads(sys.stdin.readline())
    torch.set_num_threads(1)
    weights = Path(order["weights"])
    train, sample = (make(load_embedded_checkpoint(weights), order) for make in (trainer, sampler))
    for line in sys.stdin:
        what, *temperature = line.split()
        measured = train() if what == "train" else sample(*map(float, temperature))
        print(json.dumps({"measured": measured}), flush=True)


def trainer(loaded, order: dict) -> Callable[[], float]:
    """Seconds of a step of importance sampling, clipping and Adam over the whole batch at once."""
    model = loaded.causal_lm
    rows, length, prompt = order["rows"], order["rowTokens"], order["promptTokens"]
    count = length - prompt
    columns, lines = torch.arange(length), torch.arange(rows)[:, None]
    tokens = 32 + (columns * 37 + lines * 53) % 90
    advantages = torch.where(lines % 2 == 0, 1.0, -1.0) / count
    sampled = torch.full((rows, count), -3.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, betas=(0.9, 0.95), weight_decay=0.0)
    model.train()

    def step() -> float:
        began = time.perf_counter()
        logits = model(input_ids=tokens).logits[:, prompt - 1 : -1]
        logprobs = torch.log_softmax(logits, dim=-1).gather(-1, tokens[:, prompt:, None]).squeeze(-1)
        loss = -(torch.exp((logprobs - sampled).clamp(-20, 20)) * advantages).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - began

    return step


def sampler(loaded, order: dict) -> Callable[[float], float]:
    """Tokens a second of one batch of `generate`, as many answers as the other sides are asked for."""
    model, tokenizer = loaded.causal_lm.eval(), loaded.tokenizer
    rounds = itertools.count()

    def sample(temperature: float) -> float:
        each = next(rounds)
        texts = [[{"role": "user", "content": f"Tell me of {each}-{index}."}] for index in range(order["answers"])]
        prompts = tokenizer.apply_chat_template(texts, add_generation_prompt=True, tokenize=False)
        inputs = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left")
        began = time.perf_counter()
        with torch.inference_mode():
            output = model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                do_sample=True,
                temperature=temperature,
                top_k=0,
                max_new_tokens=order["answerTokens"],
            )
        seconds = time.perf_counter() - began
        ended = (output[:, inputs["input_ids"].shape[1] :] == tokenizer.eos_token_id).int()
        # Up to the token that ends an answer, and with it.
        return int((ended.cumsum(-1) - ended == 0).sum()) / seconds

    return sample


main()
