"""Partitions a batch into micro-batches.

A micro-batch is one row of sequences packed end to end, without padding (`packing.py`), or, for models that cannot
attend by segments, rows of similar length, padded at the end (causal attention makes a mask unnecessary). A datum is
never split, and a loss is a sum, so the partition does not change it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from agentlightning_runtime.contract.batch import TrainedSpan
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.engine.base.example import Example
from agentlightning_runtime.engine.base.packing import pack
from agentlightning_runtime.engine.loss.losses import TrainedTokens
from agentlightning_runtime.engine.vision.image_features import row_images
from agentlightning_runtime.engine.vision.placed_images import place_images

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from agentlightning_runtime.contract.batch import Batch, Datum
    from agentlightning_runtime.contract.images import ImageReader, PreparedImage
    from agentlightning_runtime.engine.base.packing import PackedRow, Segment
    from agentlightning_runtime.engine.vision.image_features import RowImages
    from agentlightning_runtime.engine.vision.placed_images import PlacedImage


#: The batch index of a placeholder example.
_STAND_IN = -1

#: Precision of the size of groups in `plan_evenly`: one of this many parts.
_STEPS = 128


@dataclass(frozen=True)
class MicroBatch:
    """The tensors of one pass through the model.

    Attributes:
        examples: Sources of the trained tokens, in order.
        token_ids: int64 [rows, length].
        positions: int64 [1, length] of a packed row; [3, rows, length] with images; else None.
        segments: Segments of a packed row, else None.
        selected: int64 [tokens]: index in the flattened `token_ids` that predicts each trained token.
        targets: int64 [tokens].
        temperatures: float32 [tokens].
        trained: Other inputs of the loss.
        images: The images of the rows; None without any.
    """

    examples: Sequence[Example]
    token_ids: Tensor
    positions: Tensor | None
    segments: Sequence[Segment] | None
    selected: Tensor
    targets: Tensor
    temperatures: Tensor
    trained: TrainedTokens
    images: RowImages | None = None

    @property
    def size(self) -> int:
        """Its work, in tokens: padding is included, and each patch of its distinct images counts as one."""
        return self.token_ids.numel() + (0 if self.images is None else len(self.images.patches))


def examples_of(batch: Batch, reader: ImageReader | None = None, *, only_weighted: bool) -> list[Example]:
    """The data with trained tokens to compute, in order.

    Args:
        batch: The sequences.
        reader: Reads their images; None for a model that reads text only.
        only_weighted: Leave out data whose weights are all 0: they do not contribute to a loss.

    Raises:
        EngineError: INVALID when an image cannot be read, or has no place in its sequence.
    """
    examples: list[Example] = []
    for index, datum in enumerate(batch.data):
        if datum.trained_tokens == 0 or (only_weighted and not np.any(datum.weights)):
            continue
        positions = np.concatenate([np.arange(span.start, span.end, dtype=np.int64) for span in datum.trained])
        images = _placed(index, datum, reader) if datum.images else ()
        last = int(positions[-1])
        # Those after the last trained token are not computed.
        examples.append(Example(index, datum, positions, [each for each in images if each.start < last]))
    return examples


def _placed(index: int, datum: Datum, reader: ImageReader | None) -> Sequence[PlacedImage]:
    if reader is None:
        problem, remedy = "The model reads text only", "Train a vision-language model, or leave out calls with images"
        raise EngineError(EngineErrorReason.INVALID, problem, field="images", datum_index=index, remedy=remedy)
    try:
        return place_images(datum.token_ids, reader.placeholder, [reader.prepare(image) for image in datum.images])
    except ValueError as error:
        raise EngineError(EngineErrorReason.INVALID, str(error), field="images", datum_index=index) from error


def plan_padded(examples: Sequence[Example], token_budget: int) -> list[Sequence[Example]]:
    """Groups of examples of at most `token_budget` tokens, padding included; a longer example is a group alone.

    Each patch of a group's distinct images counts as a token. The longest come first, so that a batch that does not fit
    in memory fails early.
    """
    groups: list[list[Example]] = []
    tokens = 0
    digests: set[str] = set()
    for example in sorted(examples, key=lambda each: (-each.length, each.index)):
        # The rows have the length of the group's first example, its longest.
        cost = groups[-1][0].length if groups else example.length
        cost += example.patches_besides(digests)
        if groups and tokens + cost <= token_budget:
            groups[-1].append(example)
            tokens += cost
            digests.update(example.patches)
        else:
            groups.append([example])
            tokens = example.size
            digests = set(example.patches)
    return [*groups]


def plan_evenly(
    plan: Callable[[Sequence[Example], int], list[Sequence[Example]]],
    examples: Sequence[Example],
    token_budget: int,
    count: int,
) -> list[Sequence[Example]]:
    """The groups of a plan, as small as possible without one more for any of `count` processes that divide them.

    Full groups would leave most processes without work in the last round.
    """
    groups = plan(examples, token_budget)
    most = -(-len(groups) // count) * count
    too_small, enough = 0, token_budget
    while count > 1 and enough - too_small > token_budget // _STEPS + 1:
        middle = (too_small + enough) // 2
        smaller = plan(examples, middle)
        if len(smaller) <= most:
            groups, enough = smaller, middle
        else:
            too_small = middle
    return groups


def share_out(groups: Sequence[Sequence[Example]], index: int, count: int) -> list[Sequence[Example]]:
    """The groups of one process; all have the same number, since they communicate in every pass.

    A process with too few groups computes a placeholder example of two tokens and weight 0.
    """
    own = list(groups[index::count])
    missing = -(-len(groups) // count) - len(own)
    return own + [[_weightless(groups[-1][-1])] for _ in range(missing)]


def _weightless(example: Example) -> Example:
    datum = example.datum
    first = replace(
        datum,
        token_ids=datum.token_ids[:2],
        trained=[TrainedSpan(1, 2)],
        sampling_logprobs=datum.sampling_logprobs[:1],
        advantages=datum.advantages[:1],
        weights=np.zeros_like(datum.weights[:1]),
        reference_logprobs=_first(datum.reference_logprobs),
        value_targets=_first(datum.value_targets),
        sampling_values=_first(datum.sampling_values),
        images=(),
    )
    return Example(_STAND_IN, first, np.ones(1, dtype=np.int64))


def _first(values: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    return None if values is None else values[:1]


def assemble(group: Sequence[Example], device: torch.device, *, is_packed: bool) -> MicroBatch:
    """The tensors of a group, on the device."""
    row = pack(group) if is_packed else None
    token_ids, places = _padded(group) if row is None else (np.concatenate(row.tokens)[None], row.places)
    placed = _images_of_padded(group, places) if row is None else row.images
    lengths = np.array([len(example.positions) for example in group])

    def column(read: Callable[[Datum], NDArray[np.float32] | None]) -> Tensor | None:
        parts = [part for example in group if (part := read(example.datum)) is not None]
        return _tensor(np.concatenate(parts), device) if len(parts) == len(group) else None

    def needed(read: Callable[[Datum], NDArray[np.float32]]) -> Tensor:
        return _tensor(np.concatenate([read(example.datum) for example in group]), device)

    selected = [place[example.positions - 1] for place, example in zip(places, group, strict=True)]
    targets = [example.datum.token_ids[example.positions] for example in group]
    temperatures = np.repeat([np.float32(example.datum.temperature) for example in group], lengths)
    return MicroBatch(
        examples=group,
        token_ids=_tensor(token_ids, device),
        positions=_positions(group, row, device),
        segments=None if row is None else row.segments,
        selected=_tensor(np.concatenate(selected), device),
        targets=_tensor(np.concatenate(targets).astype(np.int64), device),
        temperatures=_tensor(temperatures, device),
        trained=TrainedTokens(
            sampling_logprobs=needed(lambda datum: datum.sampling_logprobs),
            reference_logprobs=column(lambda datum: datum.reference_logprobs),
            advantages=needed(lambda datum: datum.advantages),
            weights=needed(lambda datum: datum.weights),
            datum=_tensor(np.repeat(np.arange(len(group)), lengths), device),
            datum_count=len(group),
            value_targets=column(lambda datum: datum.value_targets),
            sampling_values=column(lambda datum: datum.sampling_values),
        ),
        images=row_images(placed, device),
    )


def _positions(group: Sequence[Example], row: PackedRow | None, device: torch.device) -> Tensor | None:
    if row is not None:
        joined = np.concatenate(row.positions, axis=-1)
        return _tensor(joined[None] if joined.ndim == 1 else joined[:, None], device)
    if not any(example.images for example in group):
        return None
    longest = max(example.length for example in group)
    rows = [np.pad(example.places, ((0, 0), (0, longest - example.length))) for example in group]
    return _tensor(np.stack(rows, axis=1), device)


def _images_of_padded(group: Sequence[Example], places: Sequence[NDArray[np.int64]]) -> list[tuple[int, PreparedImage]]:
    return [
        (int(place[0]) + one.start, one.image)
        for example, place in zip(group, places, strict=True)
        for one in example.images
    ]


def split_by_example(
    group: Sequence[Example], values: NDArray[np.float32]
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The values of trained tokens by example, each with the index of its datum in the batch."""
    at = 0
    for example in group:
        count = len(example.positions)
        if example.index != _STAND_IN:
            yield example.index, values[at : at + count]
        at += count


def _padded(group: Sequence[Example]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """The rows, and for each example the index of its tokens in the flattened rows."""
    longest = max(example.length for example in group)
    rows = np.zeros((len(group), longest), dtype=np.int64)
    for row, example in enumerate(group):
        rows[row, : example.length] = example.datum.token_ids[: example.length]
    return rows, [np.arange(row * longest, (row + 1) * longest) for row in range(len(group))]


def _tensor(values: NDArray[np.float32] | NDArray[np.int64], device: torch.device) -> Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def refuse_unsayable(examples: Sequence[Example], output_size: int) -> None:
    """Raises INVALID when a trained token cannot be generated.

    Args:
        examples: Sequences.
        output_size: Number of leading token ids that the model can generate.
    """
    for example in examples:
        largest = int(example.datum.token_ids[example.positions].max())
        if largest >= output_size:
            raise EngineError(
                EngineErrorReason.INVALID,
                f"The token {largest} can be read but not generated; the model writes {output_size}",
                field="token_ids",
                datum_index=example.index,
            )
