"""Runs batches through a network: gradients of a loss, or log-probabilities alone."""

from __future__ import annotations

import itertools
import logging
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import Tensor

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.results import BatchResult, ForwardResult
from agentlightning_runtime.engine.base.packing import plan_packed
from agentlightning_runtime.engine.gradient_accumulator import GradientAccumulator
from agentlightning_runtime.engine.loss.batch_metrics import BatchMetrics
from agentlightning_runtime.engine.loss.losses import loss_sum
from agentlightning_runtime.engine.memory.out_of_memory import (
    MicroBatchTooLargeError,
    free_cached_memory,
    is_out_of_memory,
    rank_exhausted,
    sequence_too_large_error,
)
from agentlightning_runtime.engine.micro_batch import (
    MicroBatch,
    assemble,
    examples_of,
    plan_evenly,
    plan_padded,
    refuse_unsayable,
    share_out,
    split_by_example,
)
from agentlightning_runtime.engine.observation.pass_measure import PassMeasure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from torch import nn

    from agentlightning_runtime.contract.batch import Batch, ResolvedLoss
    from agentlightning_runtime.contract.engine import Progress
    from agentlightning_runtime.contract.images import ImageReader
    from agentlightning_runtime.engine.base.example import Example
    from agentlightning_runtime.engine.base.ranks import Ranks
    from agentlightning_runtime.engine.loss.token_scores import Scores
    from agentlightning_runtime.engine.memory.device_memory import DeviceMemory
    from agentlightning_runtime.engine.memory.micro_batch_sizer import MicroBatchSizer
    from agentlightning_runtime.engine.models.policy_network import PolicyNetwork
    from agentlightning_runtime.engine.observation.memory_gauges import MemoryGauges
    from agentlightning_runtime.engine.observation.throughput import ModelCost
    from agentlightning_runtime.engine.observation.timeline import Timeline

    _FoundScores = list[tuple[int, NDArray[np.float32], NDArray[np.float32]]]

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass
class PassSettings:
    """Partition of batches into micro-batches.

    Attributes:
        sizer: Decides the tokens of a micro-batch.
        is_sharded: The weights are sharded over the ranks, so that every pass has collective operations.
        is_packed: Sequences are packed end to end, with common prefixes once, instead of padded in rows.
        output_size: Number of leading token ids that the model can generate.
        images: Reads the images of sequences; None for a model that reads text only.
        peak_flops: Peak FLOP/s of the device; None when unknown.
        timeline: Records the phases of a pass.
        memory: Memory of the device for metrics.
        device_memory: Memory of the device for copies of gradients; None on a CPU.
    """

    device: torch.device
    sizer: MicroBatchSizer
    is_sharded: bool
    is_packed: bool
    output_size: int
    images: ImageReader | None
    peak_flops: float | None
    timeline: Timeline
    memory: MemoryGauges
    device_memory: DeviceMemory | None


@dataclass
class _Sizes:
    """The chosen size of micro-batches, and how often memory ran out before it fitted."""

    tokens: int = 0
    retries: int = 0


class GradientPass:
    """Forward and backward passes of one network.

    Args:
        network: The trained network.
        weights: Its trained weights by name.
        settings: Partition of batches.
        cost: Its floating-point operations.
        ranks: The processes that divide a batch.
    """

    def __init__(
        self,
        network: PolicyNetwork,
        weights: Mapping[str, nn.Parameter],
        settings: PassSettings,
        cost: ModelCost,
        ranks: Ranks,
    ) -> None:
        self._network = network
        self._accumulator = GradientAccumulator(
            weights.values(), settings.device_memory, ranks, is_sharded=settings.is_sharded
        )
        self._computed = 0
        self._ranks = ranks
        self._settings = settings
        self._cost = cost

    def forward_backward(self, batch: Batch, loss: ResolvedLoss, progress: Progress) -> BatchResult:
        """Accumulates the gradients of the loss.

        Raises:
            EngineError: NON_FINITE, OUT_OF_MEMORY or INVALID; the gradients are then incomplete.
        """
        examples = examples_of(batch, self._settings.images, only_weighted=True)
        trains_entropy = loss.parameters["entropy_coefficient"] != 0
        timeline = self._settings.timeline

        def attempt(max_tokens: int) -> tuple[Tensor, BatchMetrics]:
            metrics = BatchMetrics(loss.name, loss.parameters, self._settings.device)
            total_loss = torch.zeros((), dtype=torch.float64, device=self._settings.device)

            def learn(piece: MicroBatch) -> None:
                with self._settings.sizer.measure(piece.size):
                    with timeline.phase("forward"):
                        logprobs, entropies, values = self._scores(self._network, piece, trains_entropy=trains_entropy)
                        given = loss.name, loss.parameters, piece.trained
                        value = loss_sum(*given, logprobs=logprobs, entropies=entropies, values=values)
                    with timeline.phase("backward"):
                        value.backward()
                total_loss.add_(value.detach())
                metrics.add(piece.trained, logprobs, entropies, values)

            self._run(examples, max_tokens, learn, progress)
            return total_loss, metrics

        started = time.perf_counter()
        with self._accumulator.batch() as restore:
            (total_loss, metrics), sizes = self._repeat_until_it_fits(attempt, restore)
        with timeline.phase("sync"):
            total = float(self._ranks.sum_up(total_loss))
            trained_tokens, summary = metrics.summary(self._ranks)
        if not math.isfinite(total):
            raise EngineError(
                EngineErrorReason.NON_FINITE,
                f"The loss {loss.name} of the batch is {total}",
                remedy="Check the advantages, weights and log-probabilities, or take smaller steps",
            )
        speed = self._measured(examples, sizes, time.perf_counter() - started, is_backward=True)
        return BatchResult(total, trained_tokens, {**summary, **speed})

    @torch.no_grad()
    def forward(self, batch: Batch, network: PolicyNetwork, progress: Progress) -> ForwardResult:
        """Scores every trained token with a network, which may be the reference."""
        examples = examples_of(batch, self._settings.images, only_weighted=False)

        def attempt(max_tokens: int) -> tuple[_FoundScores, BatchMetrics]:
            found: _FoundScores = []
            metrics = BatchMetrics("forward", {}, self._settings.device)

            def score(piece: MicroBatch) -> None:
                with self._settings.timeline.phase("forward"):
                    scores = self._scores(network, piece, trains_entropy=False)
                metrics.add(piece.trained, *scores)
                parts = split_by_example(piece.examples, _array(scores[0]))
                of_values = split_by_example(piece.examples, _array(scores[0] if scores[2] is None else scores[2]))
                found.extend((index, part, value) for (index, part), (_, value) in zip(parts, of_values, strict=True))

            self._run(examples, max_tokens, score, progress)
            return found, metrics

        started = time.perf_counter()
        (found, metrics), sizes = self._repeat_until_it_fits(attempt, _nothing_to_restore)
        speed = self._measured(examples, sizes, time.perf_counter() - started, is_backward=False)
        empty: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        logprobs, values = [empty for _ in batch.data], [empty for _ in batch.data]
        with self._settings.timeline.phase("sync"):
            for index, logprob, value in itertools.chain.from_iterable(self._ranks.gather(found)):
                logprobs[index], values[index] = logprob, value
            summary = metrics.summary(self._ranks)[1]
        has_values = network.value_head is not None
        return ForwardResult(logprobs, values if has_values else None, {**summary, **speed})

    def _repeat_until_it_fits(
        self, attempt: Callable[[int], Result], restore: Callable[[], bool]
    ) -> tuple[Result, _Sizes]:
        """Runs a batch; when memory runs out, undoes the attempt and repeats it with smaller micro-batches.

        Args:
            attempt: Runs the batch in micro-batches of at most the given number of tokens.
            restore: Undoes what a failed attempt changed; returns whether that has freed memory of the device.

        Raises:
            EngineError: OUT_OF_MEMORY when one sequence alone does not fit.
        """
        settings, sizes = self._settings, _Sizes()
        while True:
            sizes.tokens = settings.sizer.choose()
            try:
                return attempt(sizes.tokens), sizes
            except MicroBatchTooLargeError as error:
                tokens, sequences = error.tokens, error.sequences
            # Outside the handler: the exception references the frames, and they the tensors.
            free_cached_memory(settings.device)
            has_freed_memory = restore()
            if sequences == 1 and not has_freed_memory:
                seen = settings.sizer.max_tokens_seen_ok
                raise sequence_too_large_error(
                    settings.device,
                    num_tokens=tokens,
                    max_tokens_seen_ok=seen,
                    reads_images=settings.images is not None,
                )
            if not has_freed_memory:
                settings.sizer.reduce(tokens)
            sizes.retries += 1
            how = "the gradients of earlier batches in host memory" if has_freed_memory else "less"
            LOG.warning(
                "Memory ran out with %d tokens of %d sequences; repeating the batch with %s", tokens, sequences, how
            )

    def _run(
        self, examples: Sequence[Example], max_tokens: int, work: Callable[[MicroBatch], None], progress: Progress
    ) -> None:
        settings = self._settings
        refuse_unsayable(examples, settings.output_size)
        done, total = 0, sum(example.length for example in examples)
        self._computed = 0
        plan = plan_packed if settings.is_packed else plan_padded
        groups = plan_evenly(plan, examples, max_tokens, self._ranks.count)
        for group in share_out(groups, self._ranks.index, self._ranks.count):
            self._computed += self._work(group, work)
            done = min(total, done + sum(example.length for example in group) * self._ranks.count)
            progress(done, total)

    def _work(self, group: Sequence[Example], work: Callable[[MicroBatch], None]) -> int:
        """Runs a micro-batch and returns its tokens.

        Raises:
            MicroBatchTooLargeError: on all ranks, when memory ran out on one with the weights in replicas.
            RankExhaustedError: when it ran out on this rank with the weights in shards: the others wait for it in a
                collective operation, where it cannot tell them.
        """
        computed, size, too_large = 0, group[0].size, (0, 0)
        try:
            micro_batch = assemble(group, self._settings.device, is_packed=self._settings.is_packed)
            computed, size = micro_batch.token_ids.numel(), micro_batch.size
            work(micro_batch)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            too_large = size, len(group)
            if self._settings.is_sharded:
                raise rank_exhausted(self._ranks, self._settings.device, tokens=size, sequences=len(group)) from error
        if not self._settings.is_sharded:
            with self._settings.timeline.phase("sync"):
                tokens, sequences = self._ranks.largest_of(*too_large)
            if tokens > 0:
                raise MicroBatchTooLargeError(tokens, sequences)
        self._settings.sizer.record_success(size)
        return computed

    def _scores(self, network: PolicyNetwork, piece: MicroBatch, *, trains_entropy: bool) -> Scores:
        where = (piece.token_ids, piece.positions, piece.selected)
        inputs = {"segments": piece.segments, "images": piece.images}
        return network(*where, piece.targets, piece.temperatures, **inputs, trains_entropy=trains_entropy)

    def _measured(
        self, examples: Sequence[Example], sizes: _Sizes, seconds: float, *, is_backward: bool
    ) -> dict[str, float]:
        measure = PassMeasure(examples, self._computed * self._ranks.count, seconds, is_backward=is_backward)
        flops = measure.flops(self._cost) / self._ranks.count
        if is_backward:
            self._settings.timeline.count(measure.tokens, flops)
        sizes_used = {
            "train/micro_batch_tokens": float(sizes.tokens),
            "train/micro_batch_retries": float(sizes.retries),
        }
        return {**measure.metrics(flops, self._settings.peak_flops), **sizes_used}


def _nothing_to_restore() -> bool:
    """A forward pass changes nothing."""
    return False


def _array(values: Tensor) -> NDArray[np.float32]:
    return values.detach().float().cpu().numpy()
