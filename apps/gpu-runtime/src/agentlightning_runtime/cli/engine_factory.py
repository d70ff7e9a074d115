"""Finds the engine that a command line names."""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from agentlightning_runtime.cli.usage_error import UsageError

if TYPE_CHECKING:
    from agentlightning_runtime.contract.engine import EngineFactory

GROUP = "agentlightning_runtime.engines"
"""The entry-point group in which packages name their engines."""

_OWN = {"torch": "agentlightning_runtime.create_engine"}
"""The engines of this package, for when it runs from source and is not installed."""


def find_engine_factory(name: str) -> EngineFactory:
    """Resolves `create_engine` from a name in the entry-point group or from `package.module:function`.

    Raises:
        UsageError: When no such engine exists.
    """
    try:
        if ":" in name:
            return EntryPoint(name=name, value=name, group=GROUP).load()
        found = entry_points(group=GROUP, name=name)
        if found:
            return next(iter(found)).load()
        if name in _OWN:
            return importlib.import_module(_OWN[name]).create_engine
    except (ImportError, AttributeError) as error:
        raise UsageError(f'The engine "{name}" cannot be loaded: {error}', "Install what it needs") from error
    known = ", ".join(sorted({*_OWN, *entry_points(group=GROUP).names}))
    raise UsageError(f'There is no engine "{name}"', f"Known engines: {known}. Or pass package.module:create_engine")
