"""The flags for the place of the sampler."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from agentlightning_runtime.cli.usage_error import UsageError
from agentlightning_runtime.contract.settings import SamplerPlacement

SAMPLER_KEY_VARIABLE = "AGENTLIGHTNING_SAMPLER_KEY"
"""Environment variable for the key of the servers of `--sampler-url`."""


def add_sampler_flags(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """Flags for vLLM's GPUs or addresses."""
    group.add_argument(
        "--sampler-gpus",
        type=gpu_list,
        default=(),
        metavar="4-7",
        help="GPUs of vLLM alone, such as 4-7 or 2,3; torchrun must not use them",
    )
    group.add_argument(
        "--sampler-tensor-parallel", type=_count, default=1, metavar="N", help="GPUs of a replica of vLLM [%(default)s]"
    )
    group.add_argument(
        "--sampler-colocated", action="store_true", help="vLLM on the trainer's GPUs, asleep while the trainer computes"
    )
    group.add_argument(
        "--sampler-url",
        action="append",
        default=[],
        metavar="URL",
        help="a running vLLM or SGLang server, instead of starting vLLM; repeat it for replicas. "
        f"Its key is read from {SAMPLER_KEY_VARIABLE}",
    )
    group.add_argument(
        "--sampler-folder",
        type=Path,
        metavar="DIR",
        help="folder for published weights, which are then files; machines of --sampler-url see it at the same path "
        "[in memory]",
    )
    group.add_argument(
        "--sampler-versions",
        type=_count,
        default=SamplerPlacement().versions,
        metavar="N",
        help="adapters in a batch of vLLM: staleness + 1 for each model [%(default)s]",
    )
    group.add_argument(
        "--sampler-in-flight",
        action="store_true",
        help="when all weights are trained, vLLM changes them under running requests, instead of waiting for these",
    )


def sampler_placement(flags: argparse.Namespace) -> SamplerPlacement:
    """The place from the flags.

    Raises:
        UsageError: When two places are given.
    """
    places = {
        "--sampler-gpus": bool(flags.sampler_gpus),
        "--sampler-colocated": flags.sampler_colocated,
        "--sampler-url": bool(flags.sampler_url),
    }
    given = [flag for flag, is_given in places.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"The sampler has {len(given)} places: {', '.join(given)}", "Pass one of them")
    if flags.sampler_in_flight and flags.sampler_colocated:
        raise UsageError("On the trainer's GPUs no request runs while weights change", "Remove --sampler-in-flight")
    return SamplerPlacement(
        gpus=flags.sampler_gpus,
        tensor_parallel=flags.sampler_tensor_parallel,
        is_colocated=flags.sampler_colocated,
        urls=tuple(flags.sampler_url),
        folder=None if flags.sampler_folder is None else flags.sampler_folder.absolute(),
        api_key=os.environ.get(SAMPLER_KEY_VARIABLE, ""),
        versions=flags.sampler_versions,
        in_flight=flags.sampler_in_flight,
    )


def gpu_list(text: str) -> tuple[int, ...]:
    """The indices of a list such as `0,2` or `4-7`."""
    found: list[int] = []
    for part in text.split(","):
        first, separator, last = part.strip().partition("-")
        if not first.isdigit() or (separator and not last.isdigit()):
            raise argparse.ArgumentTypeError(f'"{text}" is not a list of GPUs; write 4-7 or 2,3')
        found += range(int(first), int(last or first) + 1)
    if not found or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f'"{text}" is not a list of GPUs; write each once, such as 4-7')
    return tuple(found)


def _count(text: str) -> int:
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f'"{text}" is not an integer above 0')
