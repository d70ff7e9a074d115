"""Results of the parts, in one JSON file that a later invocation continues, and one Markdown file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

Status = Literal["passed", "failed", "not run"]

FULL_BLOCKS = "▁▂▃▄▅▆▇█"


class Results:
    """Results by name of the part. Each is written at once, so an interruption loses only the running part."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._json = folder / "gpu-smoke.json"
        self._markdown = folder / "gpu-smoke.md"
        self.parts: dict[str, dict[str, Any]] = json.loads(self._json.read_text()) if self._json.exists() else {}

    def is_done(self, name: str) -> bool:
        """Whether the part passed, or cannot be run on this machine. Failed parts are repeated."""
        return self.parts.get(name, {}).get("status") in ("passed", "not run")

    def record(self, name: str, status: Status, seconds: float, content: dict[str, Any]) -> None:
        """Writes the result of a part."""
        self.parts[name] = {**content, "status": status, "seconds": round(seconds, 1)}
        temporary = self._json.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.parts, indent=2) + "\n", "utf-8")
        temporary.replace(self._json)
        self._markdown.write_text(self.to_markdown(), "utf-8")

    def to_markdown(self) -> str:
        """All results as tables."""
        lines = ["# GPU check", "", "| Part | Status | Seconds | Result |", "|---|---|---|---|"]
        for name, part in self.parts.items():
            content = {key: value for key, value in part.items() if key not in ("status", "seconds")}
            cells = "<br>".join(f"{key}: {_cell(value)}" for key, value in content.items())
            lines.append(f"| {name} | {part['status']} | {part['seconds']} | {cells} |")
        return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and value and all(isinstance(each, int | float) for each in value):
        return f"{sparkline(value)} ({value[0]:.3g} to {value[-1]:.3g})"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(each)}" for key, each in value.items())
    return str(value).replace("|", "\\|").replace("\n", "<br>")


def sparkline(values: list[float]) -> str:
    """Numbers as blocks of different height; the highest is the maximum."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(FULL_BLOCKS[round((value - low) / span * (len(FULL_BLOCKS) - 1))] for value in values)
