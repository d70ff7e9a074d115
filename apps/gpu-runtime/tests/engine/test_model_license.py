"""The licence of a base model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.engine.a_batch import an_engine

from agentlightning_runtime.engine.loading.model_license import model_license
from agentlightning_runtime.engine.loading.random_model import load_random_model

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("---\nlicense: apache-2.0\ntags: [a]\n---\n# A model\n", "apache-2.0"),
        ("---\nlicense: other\nlicense_name: llama3.2\n---\n", "llama3.2"),
        ("---\nlicense: other\n---\n", ""),
        ("---\nlicense: [mit, apache-2.0]\n---\n", ""),
        ("---\nlicense: 'x\x1b[31m'\n---\n", ""),
        ("---\nlicense: [\n---\n", ""),
        ("# A model under the MIT license\n", ""),
    ],
)
def test_license_is_that_of_the_card(tmp_path: Path, card: str, expected: str) -> None:
    (tmp_path / "README.md").write_text(card)
    assert model_license(str(tmp_path)) == expected


def test_license_without_a_card_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert model_license(str(tmp_path)) == ""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert model_license("example/no-such-model") == ""


def test_capabilities_have_the_license(tmp_path: Path) -> None:
    loaded = load_random_model("random:llama-tiny")
    loaded.causal_lm.save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "README.md").write_text("---\nlicense: mit\n---\n")
    engine = an_engine(tmp_path, carded=str(tmp_path / "model"))
    assert {info.name: info.license for info in engine.capabilities().models} == {"tiny": "", "carded": "mit"}
