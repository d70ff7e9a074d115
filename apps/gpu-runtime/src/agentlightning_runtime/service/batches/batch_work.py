"""Plans the work of a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from agentlightning_runtime.gen.agentlightning.runtime.v1 import batch_pb2, error_pb2, operation_pb2
from agentlightning_runtime.service.base.failure import RuntimeFailureError
from agentlightning_runtime.service.base.invalid import invalid
from agentlightning_runtime.service.base.resolve_parameters import columns_needed, resolve_loss
from agentlightning_runtime.service.batches.check_batch import BatchRules
from agentlightning_runtime.service.batches.receive_batch import unpack_batch
from agentlightning_runtime.service.hosting.operation_record import BatchOutput, Execute
from agentlightning_runtime.service.hosting.runtime_host import assert_sound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from agentlightning_runtime.contract.batch import Batch
    from agentlightning_runtime.contract.engine import Progress
    from agentlightning_runtime.contract.settings import BaseModelInfo
    from agentlightning_runtime.service.hosting.hosted_model import HostedModel
    from agentlightning_runtime.service.hosting.runtime_host import RuntimeHost


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """The model of the batch."""

    host: RuntimeHost
    model: HostedModel
    header: batch_pb2.BatchHeader

    @property
    def seq(self) -> int:
        """The operation's number."""
        return self.header.key.seq

    @property
    def base(self) -> BaseModelInfo:
        """The base model of the model."""
        name = self.model.request.base_model
        return next(base for base in self.host.capabilities.models if base.name == name)


async def batch_work(payload: bytes, place: BatchPlace) -> Execute:
    """Validates a batch and returns its work.

    Raises:
        RuntimeFailureError: INVALID, naming the datum and the field.
    """
    if place.header.kind == batch_pb2.BATCH_KIND_FORWARD:
        return await _forward_work(payload, place)
    return await _loss_work(payload, place)


async def _forward_work(payload: bytes, place: BatchPlace) -> Execute:
    host, model, header = place.host, place.model, place.header
    batch = await host.thread.aside(unpack_batch, payload, header, BatchRules(place.base, {}))

    async def execute(progress: Progress) -> operation_pb2.BatchResult:
        engine = assert_sound(model)
        _assert_fresh(batch, engine.state().policy_version, header)
        use_reference = header.use_reference
        result = await host.thread.run(
            engine.forward, batch, use_reference=use_reference, progress=_in_tokens(progress, batch)
        )
        values = None if result.values is None or use_reference else _packed(result.values)
        output = BatchOutput(logprobs=_packed(result.logprobs), values=values)
        model.operation(place.seq).output = output
        host.metrics.add(result.metrics, model_id=model.model_id, step=engine.state().step)
        return operation_pb2.BatchResult(
            trained_tokens=len(output.logprobs) // 4,
            output_bytes=len(output.logprobs),
            value_output_bytes=0 if output.values is None else len(output.values),
            metrics=result.metrics,
        )

    return execute


async def _loss_work(payload: bytes, place: BatchPlace) -> Execute:
    host, model, header = place.host, place.model, place.header
    loss = resolve_loss(header.loss, host.capabilities.losses)
    needed = columns_needed(loss)
    if "value_targets" in needed and not model.request.has_value_head:
        raise invalid("loss.parameters.value_coefficient", f'is not 0, but model "{model.model_id}" has no value head')
    batch = await host.thread.aside(unpack_batch, payload, header, BatchRules(place.base, needed))

    async def execute(progress: Progress) -> operation_pb2.BatchResult:
        engine = assert_sound(model)
        _assert_fresh(batch, engine.state().policy_version, header)
        began_ms = host.clock()
        result = await host.thread.run(engine.forward_backward, batch, loss, _in_tokens(progress, batch))
        if not math.isfinite(result.loss):
            raise RuntimeFailureError(
                error_pb2.ERROR_REASON_NON_FINITE,
                f"The loss of the batch is {result.loss}",
                remedy="Check for log-ratios far from 0 in the batch, or lower the learning rate.",
            )
        seconds = max(host.clock() - began_ms, 0.001) / 1000
        measured = {"train/loss": result.loss, "train/tokens_per_second": batch.tokens / seconds, **result.metrics}
        host.metrics.add(measured, model_id=model.model_id, step=engine.state().step)
        return operation_pb2.BatchResult(loss=result.loss, trained_tokens=result.trained_tokens, metrics=result.metrics)

    return execute


def _in_tokens(progress: Progress, batch: Batch) -> Progress:
    """Reports progress in tokens of the batch, regardless of the engine's unit."""

    def tell(done: int, total: int) -> None:
        progress(round(batch.tokens * done / max(total, 1)), batch.tokens)

    return tell


def _assert_fresh(batch: Batch, policy_version: int, header: batch_pb2.BatchHeader) -> None:
    """Checked when the batch starts: only then is the age of its data known."""
    if not header.HasField("max_version_lag"):
        return
    for index, datum in enumerate(batch.data):
        lag = policy_version - datum.min_policy_version
        if lag > header.max_version_lag:
            raise RuntimeFailureError(
                error_pb2.ERROR_REASON_STALE_WEIGHTS,
                f"data[{index}] was sampled with policy version {datum.min_policy_version}, {lag} behind the current "
                f"version "
                f"{policy_version}; the batch allows {header.max_version_lag}",
                field="min_policy_version",
                datum_index=index,
                version_lag=(lag, header.max_version_lag),
                remedy="Drop these data and sample again with the current weights.",
            )


def _packed(arrays: Sequence[NDArray[np.float32]]) -> bytes:
    return b"".join(np.ascontiguousarray(array, dtype="<f4").tobytes() for array in arrays)
