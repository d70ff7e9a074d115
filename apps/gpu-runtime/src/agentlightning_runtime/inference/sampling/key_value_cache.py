"""The key-value cache of a running batch, right-aligned so that a step appends one column to all rows."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

_SPARE_COLUMNS = 64


class BatchLayer(CacheLayerMixin):
    """Keys and values of one layer, [rows, heads, columns, width], in buffers with spare columns.

    Rows end at the same column and start at different ones; columns before a row's start are zero and masked.
    """

    is_sliding = False

    def __init__(self) -> None:
        super().__init__()
        self._length = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Takes shapes and data types from the first states."""
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys = _empty_like(key_states, key_states.shape[-2] + _SPARE_COLUMNS)
        self.values = _empty_like(value_states, value_states.shape[-2] + _SPARE_COLUMNS)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Appends the new columns; returns all columns."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        keys, values = self._buffers()
        begin, end = self._length, self._length + key_states.shape[-2]
        if end > keys.shape[-2]:
            keys = _widened(keys, begin, end + max(_SPARE_COLUMNS, end // 2))
            values = _widened(values, begin, end + max(_SPARE_COLUMNS, end // 2))
            self.keys, self.values = keys, values
        keys[..., begin:end, :] = key_states
        values[..., begin:end, :] = value_states
        self._length = end
        return keys[..., :end, :], values[..., :end, :]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The number of columns after the step, and the offset of the mask."""
        return self._length + query_length, 0

    def get_seq_length(self) -> int:
        """The number of columns."""
        return self._length

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self._buffers()[0].shape[0]

    @property
    def column_count(self) -> int:
        """The number of columns, spare ones included."""
        return self._buffers()[0].shape[-2]

    @property
    def nbytes(self) -> int:
        """Memory of keys and values, with spare columns."""
        return sum(each.nbytes for each in self._buffers())

    def get_max_length(self) -> int:
        """Unlimited."""
        return -1

    def select(self, rows: Tensor, first_column: int) -> None:
        """Keeps these rows, and the columns from this one on. A row may be duplicated."""
        keys, values = self._buffers()
        self.keys = keys[:, :, first_column:].index_select(0, rows)
        self.values = values[:, :, first_column:].index_select(0, rows)
        self._length -= first_column

    def join(self, other: BatchLayer) -> None:
        """Adds the rows of another layer, right-aligned."""
        keys, values = self._buffers()
        other_keys, other_values = other._buffers()
        length = max(self._length, other._length)
        stacked_keys = _stacked((keys, self._length), (other_keys, other._length), length)
        self.values = _stacked((values, self._length), (other_values, other._length), length)
        self.keys = stacked_keys
        self._length = length

    def part(self, rows: int, length: int) -> None:
        """Undoes a join: keeps the first rows and their last columns. Allocates no memory."""
        keys, values = self._buffers()
        first_column = self._length - length
        self.keys, self.values = keys[:rows, :, first_column:], values[:rows, :, first_column:]
        self._length = length

    def _buffers(self) -> tuple[Tensor, Tensor]:
        if self.keys is None or self.values is None:
            raise RuntimeError("The cache has no rows yet. Run the model over a prompt before selecting rows.")
        return self.keys, self.values


class BatchCache(Cache):
    """The layers of a running batch, in the format of Transformers' models."""

    def __init__(self, layer_count: int) -> None:
        self.batch_layers = [BatchLayer() for _ in range(layer_count)]
        super().__init__(layers=list(self.batch_layers))

    def select(self, rows: list[int], first_column: int) -> None:
        """Keeps these rows, and the columns from this one on."""
        places: dict[torch.device, Tensor] = {}
        for layer in self._used():
            if layer.device not in places:
                places[layer.device] = torch.tensor(rows, dtype=torch.long, device=layer.device)
            layer.select(places[layer.device], first_column)

    def join(self, other: BatchCache) -> None:
        """Appends the rows of another cache: in all layers, or in none when memory runs out."""
        joined: list[tuple[BatchLayer, int, int]] = []
        try:
            for mine, theirs in zip(self._used(), other._used(), strict=True):
                before = (mine, mine.row_count, mine.get_seq_length())
                mine.join(theirs)
                joined.append(before)
        except BaseException:
            for layer, rows, length in joined:
                layer.part(rows, length)
            raise

    @property
    def nbytes(self) -> int:
        """Memory of keys and values, with spare columns."""
        return sum(layer.nbytes for layer in self._used())

    @property
    def bytes_a_token(self) -> int:
        """Memory of the keys and values of one token."""
        return sum(layer.nbytes // (layer.row_count * layer.column_count) for layer in self._used())

    def _used(self) -> list[BatchLayer]:
        """Layers that share the keys and values of another layer have no state."""
        return [layer for layer in self.batch_layers if layer.is_initialized]


def _empty_like(states: Tensor, columns: int) -> Tensor:
    rows, heads, _, width = states.shape
    return states.new_zeros((rows, heads, columns, width))


def _widened(buffer: Tensor, length: int, columns: int) -> Tensor:
    wide = _empty_like(buffer, columns)
    wide[..., :length, :] = buffer[..., :length, :]
    return wide


def _stacked(first: tuple[Tensor, int], second: tuple[Tensor, int], length: int) -> Tensor:
    rows = first[0].shape[0] + second[0].shape[0]
    _, heads, _, width = first[0].shape
    stacked = first[0].new_zeros((rows, heads, length + _SPARE_COLUMNS, width))
    at = 0
    for buffer, filled in (first, second):
        stacked[at : at + buffer.shape[0], :, length - filled : length] = buffer[..., :filled, :]
        at += buffer.shape[0]
    return stacked
