"""A sampled response as a training datum."""

from __future__ import annotations

from typing import Any

import numpy as np

from agentlightning_runtime.contract.batch import Datum, TrainedSpan


def sampled_datum(answer: Any, choice: Any, temperature: float) -> Datum:
    """Alternating positive and negative advantages for the choices of a response."""
    prompt, response = answer.prompt_token_ids, choice.token_ids
    logprobs = [entry.logprob for entry in choice.logprobs.content]
    ones = np.ones(len(response), dtype=np.float32)
    return Datum(
        token_ids=np.array([*prompt, *response], dtype=np.int32),
        trained=[TrainedSpan(len(prompt), len(prompt) + len(response))],
        sampling_logprobs=np.array(logprobs, dtype=np.float32),
        advantages=ones * (1 if choice.index % 2 == 0 else -1),
        weights=np.full_like(ones, 0.01),
        temperature=temperature,
    )
