"""Measures a GPU machine in one command: whether the runtime is right on it, how fast it is, and what would help.

    python apps/gpu-runtime/scripts/gpu_measure.py --out results

Needs a clone, and no network: models have the shapes of Qwen3 and random weights. Each part is written as soon as
it is done, to `measure.json` and as a report to `gpu.md`. A part that fails leaves its traceback in `log.txt`, and the
next one is run. A part whose estimate exceeds the time left is skipped, and one that has not ended with the time is
interrupted; `--only` runs it in a further call.
`--tiny --device cpu` runs every part with small sizes.

Exit codes: 0 all parts passed or cannot be run here, 1 a part failed, 2 invalid arguments, 75 parts were skipped.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("RUNTIME_ROOT", Path(__file__).resolve().parents[1]))
"""Folder of the runtime. A copy of this file elsewhere finds it by the environment variable."""

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "src"), str(ROOT)]
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

if importlib.util.find_spec("httpx2") is None:
    # Older releases of Transformers bring its predecessor, with the same interface. The runtime's process needs it too.
    names = tempfile.mkdtemp(prefix="agentlightning-httpx2-")
    (Path(names) / "httpx2.py").write_text("from httpx import *\n")
    sys.path.append(names)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), names)))

import torch  # noqa: E402 - the environment is set above

from measure.checkpoint_speed import measure_checkpoints  # noqa: E402
from measure.correctness import measure_correctness, measure_resuming  # noqa: E402
from measure.kernel_profile import measure_kernels  # noqa: E402
from measure.local_engine import free_memory  # noqa: E402
from measure.machine import measure_machine, run_gpu_tests  # noqa: E402
from measure.plan import NotRunError, Part, Plan, TimeLimitError, time_limit  # noqa: E402
from measure.report import Report, text_of  # noqa: E402
from measure.sampling_speed import measure_generate, measure_sampling  # noqa: E402
from measure.served import measure_grpo, measure_vllm  # noqa: E402
from measure.training_speed import compared_trainings, kernels, large_trainings, small_trainings  # noqa: E402
from measure.workloads import QWEN_4B, QWEN_600M  # noqa: E402

UNFINISHED = 75
"""Exit code of a temporary failure (EX_TEMPFAIL of sysexits.h)."""


def all_parts() -> list[Part]:
    """The parts, in the order of what they tell."""
    counts = (1, 16, 64, 256)
    return [
        Part("machine", 3, measure_machine),
        Part("correctness", 70, measure_correctness),
        *small_trainings(),
        Part("sample 0.6B lora", 25, lambda plan: measure_sampling(plan, QWEN_600M, counts, lora=True)),
        Part("GRPO", 42, lambda plan: measure_grpo(plan, shuffles=False)),
        *large_trainings(),
        Part("GRPO, shuffled rewards", 42, lambda plan: measure_grpo(plan, shuffles=True)),
        Part("tests/gpu", 26, lambda plan: run_gpu_tests(plan, ROOT)),
        Part("sample 0.6B generate", 45, lambda plan: measure_generate(plan, QWEN_600M, counts[1:])),
        Part("resume", 12, measure_resuming),
        Part("checkpoint 0.6B full", 40, measure_checkpoints),
        Part("kernels", 42, measure_kernels),
        Part("sample 0.6B full", 25, lambda plan: measure_sampling(plan, QWEN_600M, (64,), lora=False)),
        Part("sample 4B lora", 40, lambda plan: measure_sampling(plan, QWEN_4B, (64, 256), lora=True)),
        Part("vLLM", 120, measure_vllm),
        *compared_trainings(),
        Part("sample 0.6B lora unfused", 30, measure_unfused_sampling),
    ]


def measure_unfused_sampling(plan: Plan) -> dict[str, Any]:
    """The built-in sampler without Liger's kernels."""
    with kernels(is_fused=False):
        return measure_sampling(plan, QWEN_600M, (64, 256), lora=True)


def main(arguments: list[str] | None = None) -> int:
    """Runs the parts; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("gpu-measure"), metavar="DIR", help="folder of results")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cpu or cuda")
    parser.add_argument("--minutes", type=float, default=8.8, help="time of all parts [8.8]")
    parser.add_argument(
        "--only", default="", metavar="NAMES", help="parts whose name begins with one of these, by comma"
    )
    parser.add_argument("--tiny", action="store_true", help="small sizes, for a trial on a CPU")
    parsed = parser.parse_args(arguments)
    beginnings = tuple(filter(None, parsed.only.split(","))) or ("",)
    parts = [part for part in all_parts() if part.name.startswith(beginnings)]
    if not parts:
        parser.error(f"no part begins with {parsed.only!r}; parts: {', '.join(part.name for part in all_parts())}")
    report = Report(parsed.out)
    with tempfile.TemporaryDirectory(prefix="gpu-measure-") as folder:
        deadline = time.monotonic() + parsed.minutes * 60
        plan = Plan(parsed.device, parsed.out, Path(folder), deadline, parsed.tiny)
        for part in parts:
            run_part(part, plan, report)
    failed, skipped = report.names("failed"), report.names("skipped")
    print(f"{len(parts)} parts, failed: {', '.join(failed) or 'none'}, skipped: {', '.join(skipped) or 'none'}")
    return 1 if failed else UNFINISHED if skipped else 0


def run_part(part: Part, plan: Plan, report: Report) -> None:
    """Runs a part, and records its result and its error."""
    estimate = 0 if plan.is_tiny else part.estimate
    if plan.seconds_left < estimate:
        reason = f"{plan.seconds_left:.0f} s are left, {estimate:.0f} s are needed"
        report.record(part.name, "skipped", 0, {"reason": reason})
        return
    began = time.monotonic()
    try:
        with time_limit(plan.seconds_left):
            found = part.measure(plan)
    except TimeLimitError:
        spent = time.monotonic() - began
        report.record(part.name, "skipped", spent, {"reason": f"it had not ended after {spent:.0f} s"})
    except NotRunError as reason:
        report.record(part.name, "not run", 0, {"reason": str(reason)})
    except Exception as error:  # noqa: BLE001 - any error is the result of its part, and the next part is run
        plan.log(part.name)
        reason = f"{type(error).__name__}: {error}"[:600]
        report.record(part.name, "failed", time.monotonic() - began, {"reason": reason})
        # The traceback holds the tensors of the part.
        error.__traceback__ = None
        free_memory()
    else:
        status = "failed" if found.get("is_right") is False else "passed"
        report.record(part.name, status, time.monotonic() - began, found)
    print(f"{part.name}: {text_of(report.parts[part.name])}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
