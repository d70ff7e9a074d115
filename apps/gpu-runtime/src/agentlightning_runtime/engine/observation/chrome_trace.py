"""Spans in the trace event format, which chrome://tracing and Perfetto open."""

from __future__ import annotations

import json
import time
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentlightning_runtime.engine.observation.timeline import Span

_IDLE_TRACK = 0


def write_chrome_trace(spans: Sequence[Span], directory: Path, *, rank: int = 0) -> Path:
    """Writes spans into a new file, one track for each model and one for the time without an operation.

    Args:
        spans: Operations and phases.
        directory: Folder of the file; created when missing.
        rank: The rank of this process.
    """
    directory.mkdir(parents=True, exist_ok=True)
    stem = f"{time.strftime('trace-%Y%m%dT%H%M%SZ', time.gmtime())}-rank{rank}"
    candidates = (directory / f"{stem}{suffix}.json" for suffix in chain([""], map("-{}".format, count(2))))
    file = next(path for path in candidates if not path.exists())
    temporary = file.with_suffix(".partial")
    temporary.write_text(json.dumps(chrome_trace(spans, rank=rank)))
    temporary.replace(file)
    return file


def chrome_trace(spans: Sequence[Span], *, rank: int = 0) -> dict[str, Any]:
    """The trace as an object of JSON; its times are in microseconds after the first span."""
    origin_s = min((span.start_s for span in spans), default=0.0)
    tracks = {model_id: index for index, model_id in enumerate(dict.fromkeys(span.model_id for span in spans), start=1)}
    started_at = time.time() - time.perf_counter() + origin_s
    names = {_IDLE_TRACK: "idle", **{index: f"model {model_id}" for model_id, index in tracks.items()}}
    events: list[dict[str, Any]] = [_label("process_name", rank, _IDLE_TRACK, f"rank {rank}")]
    events += [_label("thread_name", rank, track, name) for track, name in names.items()]
    for span in spans:
        kind = "operation" if span.is_operation else "phase"
        interval_s = span.start_s - origin_s, span.end_s - origin_s
        events.append(_complete(span.name, kind, interval_s, (rank, tracks[span.model_id])))
    operations = sorted((span for span in spans if span.is_operation), key=lambda span: span.start_s)
    for before, after in pairwise(operations):
        if after.start_s > before.end_s:
            interval_s = before.end_s - origin_s, after.start_s - origin_s
            events.append(_complete("idle", "idle", interval_s, (rank, _IDLE_TRACK)))
    for event in events:
        event["pid"] = rank
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"started_at_unix_s": started_at}}


def _label(kind: str, rank: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": rank, "tid": track, "args": {"name": name}}


def _complete(name: str, kind: str, interval_s: tuple[float, float], place: tuple[int, int]) -> dict[str, Any]:
    (start_s, end_s), (rank, track) = interval_s, place
    times = {"ts": round(1e6 * start_s, 3), "dur": round(1e6 * (end_s - start_s), 3)}
    return {"ph": "X", "name": name, "cat": kind, **times, "pid": rank, "tid": track}
