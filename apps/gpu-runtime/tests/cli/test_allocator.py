"""The allocator of the trainer's process has expandable segments; that of a vLLM beside it has not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentlightning_runtime.inference.experimental.vllm.vllm_process import without_torchrun

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")

#: An engine that reports the environment in which torch is imported.
ENGINE = f"""
import os, sys
def create_engine(settings):
    assert "torch" not in sys.modules
    print("\\nseen:", *(os.environ.get(name, "-") for name in {NAMES}), file=sys.stderr)
    raise SystemExit(3)
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "expandable_segments:True - -"),
        ({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}, "max_split_size_mb:64 - -"),
        ({"PYTORCH_ALLOC_CONF": "max_split_size_mb:64"}, "- - max_split_size_mb:64"),
    ],
)
def test_segments_are_expandable_unless_the_user_has_chosen(
    tmp_path: Path, given: dict[str, str], expected: str
) -> None:
    (tmp_path / "reporting.py").write_text(ENGINE)
    environment = {name: value for name, value in os.environ.items() if name not in NAMES}
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-m", "agentlightning_runtime", "serve", "--model", "any", "--port", "0"]
    done = subprocess.run(
        [*command, "--inference-port", "0", "--engine", "reporting:create_engine"],
        env={**environment, **given, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"seen: {expected}\n" in done.stderr


def test_vllm_starts_without_the_settings_of_the_trainer() -> None:
    given = {
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "RANK": "0",
        "TORCHELASTIC_RUN_ID": "1",
        "PATH": "x",
    }
    assert without_torchrun(given) == {"PATH": "x"}
