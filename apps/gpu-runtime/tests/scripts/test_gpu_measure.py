"""The measurement of a GPU machine, with tiny models on the CPU."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpu_measure import all_parts, main
from measure.correctness import LIMITS, measure_correctness
from measure.grpo import group_advantages
from measure.local_engine import local_engine
from measure.plan import NotRunError, Part, Plan
from measure.report import Report
from measure.workloads import QWEN_600M, workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu_measure.py"

# What PyTorch, Transformers, PEFT and the carried wheels bring, with what these import if it is there.
BARE_MACHINE = frozenset(
    (
        *("torch", "transformers", "peft", "accelerate", "numpy", "safetensors", "tokenizers", "huggingface_hub"),
        *("httpx2", "jinja2", "yaml", "regex", "tqdm", "requests", "pydantic", "starlette"),
        *(
            "uvicorn",
            "httptools",
            "grpc",
            "grpc_health",
            "grpc_reflection",
            "google",
            "packaging",
            "filelock",
            "psutil",
        ),
    )
)

IMPORTS = f"""
import runpy, sys
sys.argv = ["gpu_measure.py", "--help"]
sys.path.insert(0, {str(SCRIPT.parent)!r})
own = set()
from importlib.abc import MetaPathFinder
class Record(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        frame = sys._getframe()
        while frame and ("importlib" in frame.f_code.co_filename or frame.f_code.co_filename == "<string>"):
            frame = frame.f_back
        if frame and "gpu-runtime" in frame.f_code.co_filename and "site-packages" not in frame.f_code.co_filename:
            own.add(name.partition(".")[0])
sys.meta_path.insert(0, Record())
try:
    runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
except SystemExit:
    pass
print("own:", *sorted(own))
"""


def parts_of(folder: Path) -> dict[str, dict[str, object]]:
    return json.loads((folder / "measure.json").read_text("utf-8"))


def run_tiny(folder: Path, only: str) -> int:
    return main(["--tiny", "--device", "cpu", "--out", str(folder), "--only", only])


def test_the_script_imports_only_what_a_bare_machine_has() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    own = set(done.stdout.splitlines()[-1].removeprefix("own:").split())
    assert {"torch", "transformers", "agentlightning_runtime", "measure"} <= own
    assert own - BARE_MACHINE - sys.stdlib_module_names - {"agentlightning_runtime", "measure"} == set()


def test_every_kind_of_part_passes_with_tiny_models(tmp_path: Path) -> None:
    only = (
        "machine,correctness,train 0.6B lora groups,train 0.6B lora agents HF,train 0.6B full agents,"
        "sample 0.6B lora,sample 0.6B generate,checkpoint,kernels,tests/gpu,vLLM"
    )
    assert run_tiny(tmp_path, only) == 0
    statuses = {name: part["status"] for name, part in parts_of(tmp_path).items()}
    of_a_gpu = [name for name in statuses if name.startswith(("tests/gpu", "vLLM"))]
    assert {statuses.pop(name) for name in of_a_gpu} <= {"passed", "not run"}
    assert set(statuses.values()) == {"passed"}
    assert len(statuses) == 14
    for name, part in parts_of(tmp_path).items():
        if name.startswith("train"):
            assert part["first_s"] > 0  # pyright: ignore[reportOperatorIssue]
    assert "train 0.6B full agents 4 batches" in statuses
    runtime = parts_of(tmp_path)["train 0.6B lora groups"]
    # On a CPU that of the process.
    assert runtime["peak_gib"] > 0.1  # pyright: ignore[reportOperatorIssue]
    # Each computes in its own way, so that equal numbers would mean that a change was not applied.
    correctness = parts_of(tmp_path)["correctness"]
    errors = {correctness[f"lora {name}"]["gradient_error"] for name in ("fp32", "fp32 padded", "bf16")}  # pyright: ignore[reportIndexIssue]
    assert len(errors) == 3
    report = (tmp_path / "gpu.md").read_text("utf-8")
    for title in ("Machine", "Correctness", "Training", "Sampling", "Other parts"):
        assert f"## {title}" in report
    assert "| full bf16 padded |" in report
    assert "| 0.6B lora groups |" in report


def test_a_training_learns(tmp_path: Path) -> None:
    served = next(part for part in all_parts() if part.name == "GRPO")
    found = served.measure(Plan("cpu", tmp_path, tmp_path, math.inf, is_tiny=True))
    assert found["is_right"]
    assert found["after"] > found["before"] + 0.25
    assert len(found["curve"]) == 12


def test_a_wrong_result_and_an_error_fail_their_parts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_plan: object) -> dict[str, object]:
        raise ValueError("out of memory")

    def refuse(_plan: object) -> dict[str, object]:
        raise NotRunError("no GPU")

    parts = [
        Part("wrong", 1, lambda _plan: {"is_right": False}),
        Part("broken", 1, fail),
        Part("refused", 1, refuse),
        Part("long", 1e6, lambda _plan: {}),
        Part("right", 1, lambda _plan: {"tokens_per_s": 1.0}),
    ]
    monkeypatch.setattr("gpu_measure.all_parts", lambda: parts)
    assert main(["--device", "cpu", "--out", str(tmp_path)]) == 1
    found = parts_of(tmp_path)
    assert [part["status"] for part in found.values()] == ["failed", "failed", "not run", "skipped", "passed"]
    assert "out of memory" in (tmp_path / "log.txt").read_text("utf-8")
    assert "- broken: failed: ValueError: out of memory" in (tmp_path / "gpu.md").read_text("utf-8")
    assert "failed: wrong, broken, skipped: long" in capsys.readouterr().out
    assert main(["--device", "cpu", "--out", str(tmp_path), "--only", "long"]) == 75


def test_an_unknown_part_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run_tiny(tmp_path, "seed 99")
    assert "no part begins with 'seed 99'; parts: machine, correctness" in capsys.readouterr().err


def test_a_training_is_a_row_of_the_report(tmp_path: Path) -> None:
    report = Report(tmp_path)
    found = {"seconds": 1.0, "first_s": 9.0, "tokens_per_s": 130.0, "mfu": 0.1, "peak_gib": 2.0}
    report.record("train 0.6B lora agents unfused", "passed", 1, found)
    assert "| 0.6B lora agents unfused | 1 | 9 | 130 | 0.1 | 2 |" in report.to_markdown()


def test_a_part_that_does_not_end_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_plan: object) -> dict[str, object]:
        while True:
            pass

    parts = [Part("endless", 0, never), Part("next", 0, lambda _plan: {"tokens_per_s": 1.0})]
    monkeypatch.setattr("gpu_measure.all_parts", lambda: parts)
    assert main(["--device", "cpu", "--out", str(tmp_path), "--minutes", "0.005"]) == 75
    assert [part["status"] for part in parts_of(tmp_path).values()] == ["skipped", "skipped"]
    assert "it had not ended after" in (tmp_path / "gpu.md").read_text("utf-8")


def test_large_models_and_the_control_fit_in_the_time() -> None:
    names = [part.name for part in all_parts()]
    end = names.index("GRPO, shuffled rewards") + 1
    assert {"train 4B lora agents checkpointing", "train 1.7B lora agents"} <= set(names[:end])
    assert sum(part.estimate for part in all_parts()[:end]) <= 8.8 * 60


def test_a_variant_that_raises_is_a_wrong_result_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variants = (("fp32", "float32", True), ("none", "none", True), ("fp32 padded", "float32", False))
    monkeypatch.setattr("measure.correctness.VARIANTS", variants)
    monkeypatch.setitem(LIMITS, "none", (0.0, 0.0))
    monkeypatch.setattr("measure.correctness.local_engine", refusing("none"))
    found = measure_correctness(Plan("cpu", tmp_path, tmp_path, math.inf, is_tiny=True))
    assert not found["is_right"]
    assert [found[f"lora {name}"]["is_right"] for name, _, _ in variants] == [True, False, True]
    assert found["full none"]["error"] == "ValueError: no type"
    assert (tmp_path / "log.txt").read_text("utf-8").count("== correctness, ") == 2
    report = Report(tmp_path)
    report.record("correctness", "failed", 1, found)
    assert "| lora none | ValueError: no type |  |  | no |" in report.to_markdown()


def refusing(dtype: str) -> Callable[..., AbstractContextManager[object]]:
    """An engine that does not have a data type."""

    def engine(*arguments: Any, **settings: Any) -> AbstractContextManager[object]:
        if settings["dtype"] == dtype:
            raise ValueError("no type")
        return local_engine(*arguments, **settings)

    return engine


def test_operations_of_a_pass() -> None:
    # 28 layers of 15.7 million weights, an output layer of 155.6 million, 2 * 16,384 * 16,385 / 2 pairs of tokens.
    weights = 28 * 15.73e6 * 32_768 + 155.6e6 * 32_512
    attention = 3 * 4 * 28 * 16 * 128 * 2.684e8
    batch = workload("long", QWEN_600M.vocabulary, is_tiny=False)
    assert QWEN_600M.flops(batch.data, full=True) == pytest.approx(6 * weights + attention, rel=1e-3)
    assert QWEN_600M.flops(batch.data, full=False) == pytest.approx(4 * weights + attention, rel=1e-3)


def test_advantages_of_a_group() -> None:
    advantages = group_advantages(np.array([0.0, 1.0, 0.5, 0.5]), 2)
    np.testing.assert_allclose(advantages, [-1.0, 1.0, 0.0, 0.0], atol=1e-5)


@pytest.mark.long
def test_every_part(tmp_path: Path) -> None:
    assert main(["--tiny", "--device", "cpu", "--out", str(tmp_path)]) == 0
    assert len(parts_of(tmp_path)) == len(all_parts())
