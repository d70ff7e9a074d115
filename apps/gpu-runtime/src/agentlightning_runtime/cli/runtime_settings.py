"""The flags of `serve` and `doctor`, and the settings they define."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from agentlightning_runtime.cli.sampler_flags import add_sampler_flags, sampler_placement
from agentlightning_runtime.cli.usage_error import UsageError
from agentlightning_runtime.cli.user_file import read_users
from agentlightning_runtime.contract.settings import EngineSettings
from agentlightning_runtime.service.base.limits import ServiceLimits
from agentlightning_runtime.service.serve import ServeOptions, ServerTls

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_VARIABLE = "AGENTLIGHTNING_RUNTIME_KEY"
"""Environment variable for the key of the runtime, instead of a file."""

INFERENCE_KEY_VARIABLE = "AGENTLIGHTNING_INFERENCE_KEY"
"""Environment variable for the key of the inference endpoint, instead of a file."""

DEFAULT_PORT = 50051
DEFAULT_INFERENCE_PORT = 8000
LAST_PORT = 65_535


def add_engine_flags(parser: argparse.ArgumentParser) -> None:
    """Flags for models and the device."""
    group = parser.add_argument_group("models and device")
    group.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="[NAME=]SOURCE",
        help="a model that can be trained: a Hugging Face id, a folder, a .gguf file, or random:llama-tiny for trials; "
        "repeat it for several",
    )
    group.add_argument("--checkpoints", type=Path, default=Path("checkpoints"), metavar="DIR", help="[%(default)s]")
    group.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [%(default)s]")
    group.add_argument("--dtype", choices=["auto", "bfloat16", "float32"], default="auto", help="[%(default)s]")
    group.add_argument("--max-batch-tokens", type=_positive, default=1_048_576, metavar="N", help="[%(default)s]")
    group.add_argument(
        "--micro-batch-tokens",
        type=_positive,
        metavar="N",
        help="maximum tokens in one pass [as many as fit in the GPU's memory, at most 16384; 2048 on a CPU]",
    )
    group.add_argument(
        "--gradient-checkpointing", action="store_true", help="uses less memory and about a third more time"
    )
    group.add_argument(
        "--load-in-4bit", action="store_true", help="quantises base models to 4 bits (NF4), to train LoRAs on them"
    )
    group.add_argument(
        "--shard-base",
        action="store_true",
        help="with torchrun: shards the base of LoRAs over the GPUs, where it does not fit on each",
    )
    group.add_argument(
        "--optimizer",
        choices=("adamw", "adamw-8bit"),
        default="adamw",
        help="adamw-8bit keeps moments in 8 bits instead of 32 [%(default)s]",
    )
    group.add_argument("--no-packing", action="store_true", help="pads sequences in rows, for comparison")
    group.add_argument("--threads", type=_positive, metavar="N", help="number of compute threads on a CPU")
    group.add_argument(
        "--engine",
        default="torch",
        metavar="NAME",
        help="training engine: torch, another name of the entry-point group agentlightning_runtime.engines, or "
        "package.module:create_engine [%(default)s]",
    )


def add_listening_flags(parser: argparse.ArgumentParser) -> None:
    """Flags for the training listener and its access control."""
    group = parser.add_argument_group("training over gRPC")
    group.add_argument("--host", default="127.0.0.1", help="address to listen on [%(default)s]")
    group.add_argument("--port", type=_port, default=DEFAULT_PORT, help="0 selects a free port [%(default)s]")
    group.add_argument(
        "--api-key-file", type=Path, metavar="FILE", help=f"key that clients must send; or set {KEY_VARIABLE}"
    )
    group.add_argument(
        "--users",
        type=Path,
        metavar="FILE",
        help="instead of one key, also of the endpoint: lines of a name and a key; models are separate",
    )
    group.add_argument("--tls-certificate", type=Path, metavar="FILE", help="the server's certificate chain, PEM")
    group.add_argument("--tls-key", type=Path, metavar="FILE", help="its private key, PEM")
    group.add_argument(
        "--tls-client-authority", type=Path, metavar="FILE", help="authority of the required client certificates, PEM"
    )
    limits = ServiceLimits()
    for flag, default, what in (
        ("--result-ttl-ms", limits.result_ttl_ms, "how long results of operations are kept"),
        ("--session-ttl-ms", limits.session_ttl_ms, "idle time after which a client's session expires"),
        ("--abandoned-model-ttl-ms", limits.abandoned_model_ttl_ms, "how long models without a session are kept"),
    ):
        help_text = f"{what}, in milliseconds [%(default)s]"
        group.add_argument(flag, type=_positive, default=default, metavar="N", help=help_text)
    group = parser.add_argument_group("sampling over HTTP")
    group.add_argument("--inference-host", default="127.0.0.1", help="address to listen on [%(default)s]")
    group.add_argument(
        "--inference-port", type=_port, default=DEFAULT_INFERENCE_PORT, help="0 selects a free port [%(default)s]"
    )
    group.add_argument(
        "--inference-url",
        default="",
        metavar="URL",
        help="public URL reported to clients, such as https://gpu.example/v1",
    )
    group.add_argument(
        "--inference-key-file",
        type=Path,
        metavar="FILE",
        help=f"key that callers of the endpoint must send; or set {INFERENCE_KEY_VARIABLE}",
    )
    group.add_argument(
        "--inference-engine",
        choices=("auto", "builtin", "vllm"),
        default="auto",
        help="sampler; auto is vLLM where one of the flags below gives it a place, or it is installed and the trainer "
        "is on the first GPU [%(default)s]",
    )
    add_sampler_flags(group)
    group.add_argument(
        "--vllm-arguments",
        type=shlex.split,
        default=[],
        metavar="'...'",
        help="further arguments for vLLM's server, written with =: --vllm-arguments='--gpu-memory-utilization 0.3'",
    )


def engine_settings(flags: argparse.Namespace) -> EngineSettings:
    """The engine settings from the flags.

    Raises:
        UsageError: When no model is given, or two have the same name.
    """
    return EngineSettings(
        base_models=named_models(flags.model),
        checkpoint_directory=flags.checkpoints,
        device=flags.device,
        dtype=flags.dtype,
        max_batch_tokens=flags.max_batch_tokens,
        micro_batch_tokens=flags.micro_batch_tokens,
        gradient_checkpointing=flags.gradient_checkpointing,
        load_in_4bit=flags.load_in_4bit,
        shard_base=flags.shard_base,
        optimizer=flags.optimizer,
        packing=not flags.no_packing,
        inference_host=flags.inference_host,
        inference_port=flags.inference_port,
        inference_public_url=flags.inference_url,
        inference_api_key=inference_key(flags),
        users=_users(flags),
        inference_engine=flags.inference_engine,
        sampler=sampler_placement(flags),
        vllm_arguments=tuple(flags.vllm_arguments),
    )


def serve_options(flags: argparse.Namespace) -> ServeOptions:
    """The listener settings from the flags.

    Raises:
        UsageError: When a file cannot be read, or one of certificate and key is missing.
    """
    api_key = _key(flags.api_key_file, KEY_VARIABLE)
    if flags.users is not None and api_key:
        raise UsageError("There are users and one key for all", f"Remove the key file and {KEY_VARIABLE}, or --users")
    return ServeOptions(
        host=flags.host,
        port=flags.port,
        api_key=api_key,
        users=_users(flags),
        tls=_tls(flags),
        limits=ServiceLimits(
            result_ttl_ms=flags.result_ttl_ms,
            session_ttl_ms=flags.session_ttl_ms,
            abandoned_model_ttl_ms=flags.abandoned_model_ttl_ms,
        ),
    )


def inference_key(flags: argparse.Namespace) -> str:
    """The one key of the inference endpoint; empty when none is required, or each user has one.

    Raises:
        UsageError: When its file cannot be read, or there are users.
    """
    key = _key(flags.inference_key_file, INFERENCE_KEY_VARIABLE)
    if flags.users is not None and key:
        message = "There are users and one inference key for all"
        raise UsageError(message, f"Remove the key file and {INFERENCE_KEY_VARIABLE}: users sample with their own keys")
    return key


def _users(flags: argparse.Namespace) -> Mapping[str, str]:
    return {} if flags.users is None else read_users(flags.users)


def named_models(specifications: list[str]) -> dict[str, str]:
    """The sources of models by name; the default name is the source, or the last part of a path.

    Raises:
        UsageError: When no model is given, or two have the same name.
    """
    if not specifications:
        raise UsageError(
            "No model is given", "Pass one, such as --model Qwen/Qwen2.5-0.5B-Instruct or --model my=/a/folder"
        )
    models: dict[str, str] = {}
    for specification in specifications:
        name, separator, source = specification.partition("=")
        if not separator:
            source = specification
            name = Path(source).name.removesuffix(".gguf") if Path(source).exists() else source
        if not name or not source:
            raise UsageError(f'--model is "{specification}"', "Pass [NAME=]SOURCE, such as --model my=/a/folder")
        if name in models:
            raise UsageError(f'Two models have the name "{name}"', "Pass a unique name for each: --model NAME=SOURCE")
        models[name] = source
    return models


def _tls(flags: argparse.Namespace) -> ServerTls | None:
    certificate, key, authority = flags.tls_certificate, flags.tls_key, flags.tls_client_authority
    if certificate is None and key is None and authority is None:
        return None
    if certificate is None or key is None:
        raise UsageError("TLS needs a certificate and its key", "Pass both --tls-certificate and --tls-key")
    return ServerTls(_read(certificate), _read(key), None if authority is None else _read(authority))


def _key(file: Path | None, variable: str) -> str:
    if file is None:
        return os.environ.get(variable, "")
    key = _read(file).decode().strip()
    if not key:
        raise UsageError(f"The key file {file} is empty", f"Write a key into it: openssl rand -hex 32 > {file}")
    return key


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read {file}: {error.strerror}", "Pass a file that this user can read") from error


def _positive(text: str) -> int:
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f'"{text}" is not an integer above 0')


def _port(text: str) -> int:
    if text.isdigit() and int(text) <= LAST_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f'"{text}" is not a port; ports are 0 to {LAST_PORT}')
