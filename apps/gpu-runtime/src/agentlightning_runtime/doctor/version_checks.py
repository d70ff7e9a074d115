"""Checks of package versions."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, requires, version

from agentlightning_runtime import __version__
from agentlightning_runtime.doctor.check import Check

PACKAGES = ("torch", "transformers", "peft", "safetensors", "grpcio", "protobuf", "numpy")
OPTIONAL_PACKAGES = {
    "bitsandbytes": "quantises base models and optimizer moments",
    "gguf": "reads models that come as a .gguf file",
    "vllm": "samples faster than the built-in sampler",
}


def version_checks() -> list[Check]:
    """Checks Python and the packages."""
    python = f"agentlightning-runtime {__version__}, Python {platform.python_version()} on {platform.machine()}"
    checks = [Check("python", "ok", python)]
    missing = [name for name in PACKAGES if _version(name) is None]
    found = ", ".join(f"{name} {_version(name)}" for name in PACKAGES if name not in missing)
    if missing:
        remedy = "Install them: pip install " + " ".join(_requirement(name) for name in missing)
        checks.append(Check("packages", "problem", f"{found}; missing: {', '.join(missing)}", remedy))
    else:
        checks.append(Check("packages", "ok", found))
    optional = [f"{name} {_version(name) or 'is not installed'} ({use})" for name, use in OPTIONAL_PACKAGES.items()]
    checks.append(Check("optional packages", "ok", "; ".join(optional)))
    return checks


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _requirement(name: str) -> str:
    try:
        wanted = requires("agentlightning-runtime") or []
    except PackageNotFoundError:
        return name
    return next((f"'{line}'" for line in wanted if line.startswith(name)), name)
