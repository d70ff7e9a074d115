"""The results: `measure.json`, written after every part, and the report `gpu.md`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Status = Literal["passed", "failed", "not run", "skipped"]
"""`not run`: the machine cannot; `skipped`: the time was too short."""


class Report:
    """Results by name of the part. Each is written at once, so an interruption loses only the running part."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.parts: dict[str, dict[str, Any]] = {}

    def record(self, name: str, status: Status, seconds: float, content: dict[str, Any]) -> None:
        """Writes the result of a part."""
        self.parts[name] = {**content, "status": status, "part_s": round(seconds, 1)}
        (self._folder / "measure.json").write_text(json.dumps(self.parts, indent=1, default=str) + "\n", "utf-8")
        (self._folder / "gpu.md").write_text(self.to_markdown(), "utf-8")

    def names(self, status: Status) -> list[str]:
        """Names of the parts with a status."""
        return [name for name, part in self.parts.items() if part["status"] == status]

    def to_markdown(self) -> str:
        """All results as tables."""
        machine = self.parts.get("machine", {})
        known = {key: value for key, value in machine.items() if key not in ("status", "part_s")}
        lines = [
            "# Speed and correctness on a GPU",
            "",
            f"Measured with `apps/gpu-runtime/scripts/gpu_measure.py` on {datetime.now(UTC).date().isoformat()}.",
            f"Device: {known.get('device', 'a CPU')}. Models have the shapes of Qwen3 and random weights.",
        ]
        sections = (
            ("Machine", ("", "value"), ([name, text_of(value)] for name, value in known.items())),
            ("Correctness", ("", "largest, nats", "mean, nats", "gradient", "right"), self._correctness()),
            ("Training", ("", "s a step", "first", "tokens/s", "of the peak", "GiB"), self._training()),
            ("Sampling", ("", "tokens/s", "ms a token", "GiB", "failed"), self._sampling()),
            ("Other parts", ("", "result"), self._others()),
        )
        for title, columns, rows in sections:
            lines += _table(title, columns, list(rows))
        left = [f"- {name}: {self._reason(name)}" for name, part in self.parts.items() if part["status"] != "passed"]
        return "\n".join([*lines, *(["", "## Not passed", "", *left] if left else [])]) + "\n"

    def _reason(self, name: str) -> str:
        part = self.parts[name]
        reason = str(part.get("reason", "a limit is exceeded"))
        return f"{part['status']}: {reason}"

    def _passing(self, prefix: str | tuple[str, ...]) -> Iterable[tuple[str, dict[str, Any]]]:
        return ((name, part) for name, part in self.parts.items() if name.startswith(prefix) and "reason" not in part)

    def _correctness(self) -> Iterable[list[str]]:
        for _, part in self._passing("correctness"):
            for name, value in part.items():
                if isinstance(value, dict):
                    keys = ("largest_nats", "mean_nats", "gradient_error", "is_right")
                    cells = [text_of(value.get(key)) for key in keys]
                    yield [name, text_of(value["error"]), *cells[1:]] if "error" in value else [name, *cells]

    def _training(self) -> Iterable[list[str]]:
        keys = ("seconds", "first_s", "tokens_per_s", "mfu", "peak_gib")
        for name, part in self._passing(("train ",)):
            yield [name.removeprefix("train "), *(text_of(part.get(key)) for key in keys)]

    def _sampling(self) -> Iterable[list[str]]:
        for name, part in self._passing("sample "):
            for count, value in part.items():
                if isinstance(value, dict) and "tokens_per_s" in value:
                    keys = ("tokens_per_s", "ms_a_token", "peak_gib", "failed")
                    yield [f"{name.removeprefix('sample ')}, {count}", *(text_of(value.get(key)) for key in keys)]

    def _others(self) -> Iterable[list[str]]:
        shown = ("machine", "correctness", "train ")
        for name, part in self._passing(""):
            rest = {key: value for key, value in part.items() if key not in ("status", "is_right", "part_s")}
            if name.startswith("sample "):
                rest = {key: value for key, value in rest.items() if key == "publication"}
            if rest and not name.startswith(shown):
                yield [name, text_of(rest)]


def _table(title: str, columns: Sequence[str], rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return ["", f"## {title}", "", *head, *(f"| {' | '.join(row)} |" for row in rows)]


def text_of(value: Any) -> str:
    """A value of a cell, floats with four digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {text_of(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return " ".join(text_of(each) for each in value)
    return str(value).replace("|", "\\|").replace("\n", " ")
