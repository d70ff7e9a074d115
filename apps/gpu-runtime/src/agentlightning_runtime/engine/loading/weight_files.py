"""Weights read from safetensors files row by row, so that a rank reads only its shards."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from safetensors import safe_open
from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME
from transformers.utils.hub import cached_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from torch import Tensor, nn


class WeightSource(Protocol):
    """Weights of a base model by name."""

    def rows(self, name: str, rows: slice) -> Tensor:
        """Rows of a weight, on the CPU."""
        ...


class LoadedWeights:
    """Weights of a model in memory. Implements `WeightSource`."""

    def __init__(self, module: nn.Module) -> None:
        self._tensors = module.state_dict()

    def rows(self, name: str, rows: slice) -> Tensor:
        """Rows of a weight."""
        tensor = self._tensors[name]
        return tensor[rows] if tensor.dim() > 0 else tensor


class WeightFiles:
    """Safetensors files, open within a `with` block. Implements `WeightSource`.

    Args:
        files: The file of each tensor, by the tensor's name.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._open: dict[Path, safe_open] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for path in sorted(set(self._files.values())):
            self._open[path] = self._stack.enter_context(safe_open(path, framework="pt"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.clear()
        self._stack.close()

    def rows(self, name: str, rows: slice) -> Tensor:
        """Rows of a weight; only these are read."""
        file = self._open[self._files[name]]
        view = file.get_slice(name)
        return view[rows] if view.get_shape() else file.get_tensor(name)

    def has(self, tensors: Mapping[str, Tensor]) -> bool:
        """Whether each tensor is in the files under its name and with its shape."""
        if not tensors.keys() <= self._files.keys():
            return False
        return all(
            self._open[self._files[name]].get_slice(name).get_shape() == list(tensor.shape)
            for name, tensor in tensors.items()
        )


def find_weight_files(location: str) -> WeightFiles | None:
    """The safetensors files of a folder or of a Hugging Face id, downloaded if needed; None without such files."""
    single = cached_file(location, SAFE_WEIGHTS_NAME, _raise_exceptions_for_missing_entries=False)
    if single is not None:
        with safe_open(single, framework="pt") as file:
            return WeightFiles(dict.fromkeys(file.keys(), Path(single)))
    index = cached_file(location, SAFE_WEIGHTS_INDEX_NAME, _raise_exceptions_for_missing_entries=False)
    if index is None:
        return None
    names: dict[str, str] = json.loads(Path(index).read_text(encoding="utf-8"))["weight_map"]
    paths: dict[str, Path] = {}
    for name in sorted(set(names.values())):
        path = cached_file(location, name)
        if path is None:
            return None
        paths[name] = Path(path)
    return WeightFiles({tensor: paths[name] for tensor, name in names.items()})


def has_conversions(causal_lm: PreTrainedModel) -> bool:
    """Whether Transformers converts this model's stored tensors when it loads them, such as experts that it stacks."""
    try:
        from transformers.conversion_mapping import extract_weight_conversions_for_model
    except ImportError:
        # Before version 5 only names were converted, which then differ from the model's.
        return False
    models = (module for module in causal_lm.modules() if isinstance(module, PreTrainedModel))
    return any(extract_weight_conversions_for_model(model) for model in models)
