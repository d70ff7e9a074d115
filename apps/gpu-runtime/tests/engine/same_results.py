"""Comparison of trainings by different numbers of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Mapping


def assert_same_training(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """The results of `train`."""
    assert other["loss"] == pytest.approx(one["loss"], rel=1e-5)
    assert other["norm"] == pytest.approx(one["norm"], rel=1e-5)
    assert other["tokens"] == one["tokens"]
    for name, value in one["metrics"].items():
        if name.startswith(("policy/", "value/")):
            assert other["metrics"][name] == pytest.approx(value, rel=1e-4, abs=1e-6)
    assert other["refused"] == one["refused"] == "PRECONDITION"
    assert other["state"] == one["state"]
    for scores in ("logprobs-False", "logprobs-True"):
        flat = [np.concatenate(each[scores]) for each in (one, other)]
        assert flat[1] == pytest.approx(flat[0], abs=2e-4)


def assert_same_gradients(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, gradient in one.items():
        assert (other[name] - gradient).norm() <= 1e-4 * gradient.norm()


def assert_same_weights(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, weight in one.items():
        torch.testing.assert_close(other[name], weight.detach(), rtol=1e-3, atol=2e-4)
