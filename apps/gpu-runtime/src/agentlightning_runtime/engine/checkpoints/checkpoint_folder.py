"""The checkpoints of one model on disk.

`<root>/<model id>/<name>.json` is the record of a checkpoint: step, versions, and the folder with the tensors. It is
renamed into place after everything it references is on disk. A checkpoint is therefore complete or absent, also when
the process is killed and when it replaces one of the same name. Each rank writes its shards, while training continues.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.results import Checkpoint
from agentlightning_runtime.engine.checkpoints.checkpoint_tensors import (
    read_shards,
    read_whole,
    stored_shapes,
    write_shards,
)
from agentlightning_runtime.engine.checkpoints.host_copies import HostCopies

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from torch import Tensor

    from agentlightning_runtime.engine.base.ranks import Ranks
    from agentlightning_runtime.engine.checkpoints.host_copies import HostCopy

_FORMAT = "agentlightning-runtime/1"
_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")


@dataclass(frozen=True)
class CheckpointFacts:
    """The record stored beside the tensors.

    Attributes:
        shape: Properties that must match for the tensors to fit: base model, LoRA, value head.
    """

    step: int
    policy_version: int
    shape: Mapping[str, Any]
    client_state: bytes
    created_at_ms: float


class CheckpointFolder:
    """Saves, loads, and deletes checkpoints of one model id.

    Args:
        root: Parent of the folder of each model.
        model_id: Owner of the checkpoints.
        ranks: The processes that train the model together; all of them save and load.
        copies: Copies the tensors of its checkpoints; None: at once, into pageable memory.
    """

    def __init__(self, root: Path, model_id: str, ranks: Ranks, copies: HostCopies | None = None) -> None:
        self._ranks = ranks
        self._model_id = model_id
        self._folder = root / model_id
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._writing: Future[Checkpoint] | None = None
        self._copies = copies or HostCopies()
        self._copy: HostCopy | None = None

    def save(self, name: str, facts: CheckpointFacts, tensors: Mapping[str, Tensor]) -> Future[Checkpoint]:
        """Waits for an earlier checkpoint, copies the tensors, and writes them; replaces one of the same name.

        The tensors must not change before `wait_for_copy` has returned.

        Returns:
            The checkpoint, once it is complete on disk.

        Raises:
            EngineError: INVALID when the name is not a valid file name.
        """
        if not _SAFE_NAME.fullmatch(name):
            message = f'"{name}" is not a valid checkpoint name; use 1 to 200 letters, digits, - and _'
            raise EngineError(EngineErrorReason.INVALID, message, field="name")
        # Two copies of the weights and moments would need too much memory.
        self.finish()
        folder = self._folder / self._ranks.tell(f"{name}.{uuid.uuid4().hex}")
        copy = self._copies.start(tensors)
        self._copy = None if copy.is_made else copy
        self._writing = self._writer.submit(self._write, name, facts, folder, copy)
        return self._writing

    def wait_for_copy(self) -> None:
        """Waits until the tensors of the last `save` are copied."""
        if self._copy is not None:
            self._copy.result()
            self._copy = None

    def finish(self) -> None:
        """Waits until no checkpoint is being written. Failures are those of the `save`."""
        if self._writing is not None:
            wait([self._writing])
            self._writing = self._copy = None

    def _write(self, name: str, facts: CheckpointFacts, folder: Path, copy: HostCopy) -> Checkpoint:
        is_first = self._ranks.index == 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_shards(folder, copy.result(), self._ranks)
            if not is_first:
                return self._describe(name, {**_record_of(facts), "size_bytes": 0})
            _flush(folder)
            size = sum(file.stat().st_size for file in folder.iterdir())
            record = {
                "format": _FORMAT,
                "folder": folder.name,
                "size_bytes": size + len(facts.client_state),
                **_record_of(facts),
            }
            _replace(self._folder / f"{name}.json", json.dumps(record).encode())
        except BaseException:
            if is_first:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        self._remove_folders(name, keep=folder.name)
        return self._describe(name, record)

    def find(self, uri: str) -> tuple[Checkpoint, CheckpointFacts]:
        """The record stored under a URI.

        Raises:
            EngineError: NOT_FOUND when it does not exist.
        """
        name = self._name_of(uri)
        record = self._record(name)
        if record is None:
            raise _not_found(uri)
        return self._describe(name, record), _facts(record)

    def stored_names(self, uri: str) -> Iterable[str]:
        """The names of the tensors stored under a URI.

        Raises:
            EngineError: NOT_FOUND when it does not exist.
        """
        return stored_shapes(self._folder_of(uri)).keys()

    def load(self, uri: str, tensors: Mapping[str, Tensor]) -> None:
        """Reads the shards of this rank into its tensors, which are changed in place.

        Raises:
            EngineError: NOT_FOUND when the checkpoint does not exist.
        """
        read_shards(self._folder_of(uri), tensors, self._ranks)

    def whole_tensors(self, uri: str, prefix: str) -> dict[str, Tensor]:
        """The stored tensors whose names have the prefix, unsharded on the CPU, by their names without it.

        Only rank 0 gets them.

        Raises:
            EngineError: NOT_FOUND when the checkpoint does not exist.
        """
        return read_whole(self._folder_of(uri), prefix) if self._ranks.index == 0 else {}

    def list(self) -> list[Checkpoint]:
        """All checkpoints, newest first."""
        found: list[Checkpoint] = []
        for file in self._folder.glob("*.json"):
            record = self._record(file.stem)
            if record is not None:
                found.append(self._describe(file.stem, record))
        return sorted(found, key=lambda each: (-each.created_at_ms, -each.step))

    def delete(self, uri: str) -> None:
        """Deletes a checkpoint.

        Raises:
            EngineError: NOT_FOUND when it does not exist.
        """
        name = self._name_of(uri)
        try:
            (self._folder / f"{name}.json").unlink()
        except FileNotFoundError:
            raise _not_found(uri) from None
        self._remove_folders(name, keep="")

    def _folder_of(self, uri: str) -> Path:
        record = self._record(self._name_of(uri))
        if record is None:
            raise _not_found(uri)
        return self._folder / record["folder"]

    def _record(self, name: str) -> dict[str, Any] | None:
        try:
            return json.loads((self._folder / f"{name}.json").read_bytes())
        except FileNotFoundError:
            return None

    def _describe(self, name: str, record: Mapping[str, Any]) -> Checkpoint:
        facts = _facts(record)
        return Checkpoint(
            uri=f"{self._model_id}/{name}",
            name=name,
            step=facts.step,
            policy_version=facts.policy_version,
            size_bytes=record["size_bytes"],
            client_state=facts.client_state,
            created_at_ms=facts.created_at_ms,
        )

    def _name_of(self, uri: str) -> str:
        model_id, _, name = uri.partition("/")
        if model_id != self._model_id or not _SAFE_NAME.fullmatch(name):
            raise _not_found(uri)
        return name

    def _remove_folders(self, name: str, keep: str) -> None:
        """Names contain no dots, so every file with the prefix `<name>.` belongs to the name."""
        for folder in self._folder.glob(f"{name}.*"):
            if folder.is_dir() and folder.name != keep:
                shutil.rmtree(folder, ignore_errors=True)


def _record_of(facts: CheckpointFacts) -> dict[str, Any]:
    return {**asdict(facts), "client_state": base64.b64encode(facts.client_state).decode("ascii")}


def _facts(record: Mapping[str, Any]) -> CheckpointFacts:
    return CheckpointFacts(
        step=record["step"],
        policy_version=record["policy_version"],
        shape=record["shape"],
        client_state=base64.b64decode(record["client_state"]),
        created_at_ms=record["created_at_ms"],
    )


def _not_found(uri: str) -> EngineError:
    return EngineError(EngineErrorReason.NOT_FOUND, f'This model has no checkpoint "{uri}"')


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _flush(path.parent)


def _flush(path: Path) -> None:
    """Flushes a file or folder to disk, to survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
