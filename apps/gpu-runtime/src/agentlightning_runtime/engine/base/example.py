"""A datum with the positions of its trained tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from agentlightning_runtime.contract.batch import Datum


@dataclass(frozen=True)
class Example:
    """A datum, its index in the batch, and the positions of its trained tokens."""

    index: int
    datum: Datum
    positions: NDArray[np.int64]

    @property
    def length(self) -> int:
        """Number of input tokens: all before the last trained one."""
        return int(self.positions[-1])
