"""Decodes batches and validates everything the computation relies on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from agentlightning_runtime.contract.batch import Batch, Datum, TrainedSpan
from agentlightning_runtime.service.base.invalid import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from agentlightning_runtime.contract.settings import BaseModelInfo
    from agentlightning_runtime.gen.agentlightning.runtime.v1 import batch_pb2

LOGPROB_SLACK = 1e-6
"""Tolerance for log-probabilities above 0, by rounding."""

COLUMNS = (
    "token_ids",
    "sampling_logprobs",
    "advantages",
    "weights",
    "reference_logprobs",
    "value_targets",
    "sampling_values",
)


@dataclass(frozen=True, slots=True)
class BatchRules:
    """Constraints on the data.

    Attributes:
        model: The base model.
        needed: Optional columns that the loss reads, each with the parameter that requires it.
    """

    model: BaseModelInfo
    needed: Mapping[str, str]


def check_batch(data: Sequence[batch_pb2.Datum], rules: BatchRules) -> Batch:
    """Decodes and validates the sequences of a batch.

    Raises:
        RuntimeFailureError: INVALID, naming the first invalid datum and field.
    """
    if not data:
        raise invalid("data", "is empty; a batch has at least one sequence")
    return Batch(data=[_check_datum(message, index, rules) for index, message in enumerate(data)])


def _check_datum(message: batch_pb2.Datum, index: int, rules: BatchRules) -> Datum:
    _check_byte_lengths(message, index)
    # Before decoding: an unbounded interval would need unbounded memory.
    trained = _checked_spans(message, index)
    token_ids = np.frombuffer(message.token_ids, dtype="<i4")
    _check_tokens(token_ids, index, rules.model)
    lengths = [span.end - span.start for span in trained]
    count = sum(lengths)
    sampling_logprobs = _floats(message.sampling_logprobs)
    _check_logprobs("sampling_logprobs", sampling_logprobs, count, index)
    advantages = _spread(_floats(message.advantages), lengths)
    _check_finite("advantages", advantages, count, index)
    weights = _spread(_floats(message.weights), lengths)
    _check_finite("weights", weights, count, index)
    optional = {field: _optional(message, field, index, rules) for field in COLUMNS[4:]}
    for field, numbers in optional.items():
        if numbers is not None:
            check = _check_logprobs if field == "reference_logprobs" else _check_finite
            check(field, numbers, count, index)
    if not (math.isfinite(message.temperature) and message.temperature > 0):
        raise invalid("temperature", f"is {message.temperature}; it must be finite and above 0", index)
    return Datum(
        token_ids=token_ids,
        trained=trained,
        sampling_logprobs=sampling_logprobs,
        advantages=advantages,
        weights=weights,
        temperature=message.temperature,
        reference_logprobs=optional["reference_logprobs"],
        value_targets=optional["value_targets"],
        sampling_values=optional["sampling_values"],
        rollout_id=message.rollout_id,
        group_id=message.group_id,
        min_policy_version=message.min_policy_version,
        max_policy_version=message.max_policy_version,
    )


def _check_byte_lengths(message: batch_pb2.Datum, index: int) -> None:
    for field in COLUMNS:
        size = len(getattr(message, field))
        if size % 4 != 0:
            raise invalid(field, f"has {size} bytes, which is not a multiple of 4", index)


def _checked_spans(message: batch_pb2.Datum, index: int) -> list[TrainedSpan]:
    token_count = len(message.token_ids) // 4
    earliest = 1
    spans: list[TrainedSpan] = []
    for at, span in enumerate(message.trained):
        start, end = span.start, span.end
        if start < earliest or start >= end:
            rule = f"intervals ascend, are not empty, and this one starts at {earliest} or later"
            raise invalid(f"trained[{at}].start", f"is {start} with end {end}; {rule}", index)
        if end > token_count:
            raise invalid(f"trained[{at}].end", f"is {end}; there are {token_count} tokens", index)
        earliest = end
        spans.append(TrainedSpan(start, end))
    return spans


def _check_tokens(ids: NDArray[np.int32], index: int, model: BaseModelInfo) -> None:
    if len(ids) < 2:
        raise invalid("token_ids", f"has {len(ids)} tokens; at least 2 are needed", index)
    if len(ids) > model.max_context:
        raise invalid("token_ids", f"has {len(ids)} tokens; the context of {model.name} is {model.max_context}", index)
    if int(ids.min()) >= 0 and int(ids.max()) < model.vocab_size:
        return
    at = int(np.argmax((ids < 0) | (ids >= model.vocab_size)))
    rule = f"the vocabulary of {model.name} has 0 to {model.vocab_size - 1}"
    raise invalid(f"token_ids[{at}]", f"is {int(ids[at])}; {rule}", index)


def _floats(packed: bytes) -> NDArray[np.float32]:
    return np.frombuffer(packed, dtype="<f4")


def _spread(numbers: NDArray[np.float32], lengths: Sequence[int]) -> NDArray[np.float32]:
    """One number for each trained token. A column of another length is returned unchanged, to be rejected later."""
    count = sum(lengths)
    if len(numbers) == count:
        return numbers
    if len(numbers) == 1:
        return np.repeat(numbers, count)
    return np.repeat(numbers, lengths) if len(numbers) == len(lengths) else numbers


def _optional(message: batch_pb2.Datum, field: str, index: int, rules: BatchRules) -> NDArray[np.float32] | None:
    if message.HasField(field):
        return _floats(getattr(message, field))
    parameter = rules.needed.get(field)
    if parameter is not None:
        raise invalid(field, f"is missing; {parameter} is not 0", index)
    return None


def _check_finite(field: str, numbers: NDArray[np.float32], count: int, index: int) -> None:
    _check_count(field, numbers, count, index)
    is_right = np.isfinite(numbers)
    if not is_right.all():
        at = int(np.argmin(is_right))
        raise invalid(f"{field}[{at}]", f"is {float(numbers[at])}; it must be finite", index)


def _check_logprobs(field: str, numbers: NDArray[np.float32], count: int, index: int) -> None:
    _check_count(field, numbers, count, index)
    is_right = np.isfinite(numbers) & (numbers <= LOGPROB_SLACK)
    if not is_right.all():
        at = int(np.argmin(is_right))
        raise invalid(f"{field}[{at}]", f"is {float(numbers[at])}; it must be finite and at most 0", index)


def _check_count(field: str, numbers: NDArray[np.float32], count: int, index: int) -> None:
    if len(numbers) != count:
        raise invalid(field, f"has {len(numbers)} numbers; {count} tokens are trained", index)
