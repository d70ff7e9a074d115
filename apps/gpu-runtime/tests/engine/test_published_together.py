"""Several processes prove a publication together, and stay in step when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.engine.torchrun import run_together

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    directory = tmp_path_factory.mktemp("published")
    run_together(Path(__file__).with_name("publish_together.py"), directory, 2)
    return json.loads((directory / "found.json").read_text())


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_processes_prove_what_rank_0_serves(found: Mapping[str, Any], kind: str) -> None:
    first, last, _ = found[kind]
    assert first["digest"] != last["digest"]
    for proof in (first, last):
        assert proof["probe"]["tokens"] == 16 * 2
        assert proof["probe"]["logprob_gap"] < 1e-4
    assert found[f"{kind}-fault"] == "WEIGHT_MISMATCH"


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_two_processes_continue_from_a_checkpoint_of_another_model(found: Mapping[str, Any], kind: str) -> None:
    _, saved, continued = found[kind]
    assert continued["digest"] == saved["digest"]
    assert continued["probe"]["logprob_gap"] < 1e-4
    assert found[f"{kind}-reference"]
