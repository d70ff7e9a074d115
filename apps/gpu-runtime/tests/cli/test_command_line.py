"""The command line interface."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from agentlightning_runtime.cli.main import main
from agentlightning_runtime.cli.runtime_settings import named_models
from agentlightning_runtime.cli.usage_error import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGINE = ["--engine", "scripted_engine:create_engine"]
FREE_PORTS = ["--port", "0", "--inference-port", "0"]


@pytest.fixture
def environment() -> dict[str, str]:
    tests = Path(__file__).parent.parent
    path = os.pathsep.join([str(tests / "service"), str(tests.parent / "src")])
    return {**os.environ, "PYTHONPATH": path}


@pytest.fixture
def served(environment: dict[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "agentlightning_runtime", "serve", *ENGINE, *FREE_PORTS, "--model", "any"]
    command += ["--until-stdin-ends", "--traces", str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as process:
        yield process
        process.kill()


def address_of(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    assert ready["type"] == "ready"
    return ready["address"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(served: subprocess.Popen[bytes], number: signal.Signals) -> None:
    assert address_of(served).startswith("127.0.0.1:")
    served.send_signal(number)
    _, log = served.communicate(timeout=60)
    assert served.returncode == 0
    assert log.decode().rstrip().endswith("Stopped")


def test_a_user_signal_requests_a_trace(served: subprocess.Popen[bytes], tmp_path: Path) -> None:
    address_of(served)
    for _ in range(2):
        served.send_signal(signal.SIGUSR1)
        assert served.stderr is not None
        lines = iter(served.stderr.readline, b"")
        assert next(line for line in lines if b"Trace requested" in line).decode().split()[-1] == str(tmp_path)
    served.send_signal(signal.SIGTERM)
    served.communicate(timeout=60)
    assert served.returncode == 0


def test_a_probe_tells_a_runtime_that_serves_from_none(served: subprocess.Popen[bytes]) -> None:
    assert main(["health", "--address", address_of(served)]) == 0
    served.kill()
    served.wait(timeout=60)
    assert main(["health", "--address", "127.0.0.1:1"]) == 1


def test_it_lists_the_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    gpus = json.loads(capsys.readouterr().out)["gpus"]
    assert len(gpus) == torch.cuda.device_count()


def test_it_does_not_outlive_who_started_it(served: subprocess.Popen[bytes]) -> None:
    address_of(served)
    served.communicate(timeout=60)
    assert served.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "No model is given. Pass one"),
        (["--model", "=x"], '--model is "=x"'),
        (["--model", "a=x", "--model", "a=y"], 'Two models have the name "a"'),
        (["--model", "a", "--engine", "nowhere:create_engine"], 'The engine "nowhere:create_engine" cannot be loaded'),
        (["--model", "a", "--engine", "unknown"], 'There is no engine "unknown". Known engines'),
        (["--model", "a", "--host", "0.0.0.0"], "Refusing to listen on 0.0.0.0 without TLS"),
        (["--model", "a", "--tls-key", "key.pem"], "Pass both --tls-certificate and --tls-key"),
        (["--model", "a", "--api-key-file", "/nothing/there"], "Cannot read /nothing/there"),
        (["--model", "broken", *ENGINE], 'The model "broken" cannot be loaded. Name another'),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_what_to_do(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "service"))
    assert main(["serve", *FREE_PORTS, *arguments]) == 1
    text = capsys.readouterr().err
    assert said in text
    assert text.count("\n") == 1
    sentences = text.rstrip(".\n").split(". ")
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--micro-batch-tokens", "0"], ["--dtype", "int8"]])
def test_flags_out_of_their_range_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--model", "a", *arguments])
    assert ended.value.code == 2
    assert arguments[1] in capsys.readouterr().err


def test_models_are_called_as_they_are_told_or_by_their_source(tmp_path: Path) -> None:
    file = tmp_path / "small.gguf"
    file.touch()
    models = named_models(["mine=Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-0.6B", str(file)])
    assert models == {"mine": "Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-0.6B": "Qwen/Qwen3-0.6B", "small": str(file)}
    with pytest.raises(UsageError):
        named_models([])


def test_the_doctor_finds_a_machine_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--device", "cpu", "--checkpoints", str(tmp_path), "--model", "random:llama-tiny", "--json"]
    assert main(["doctor", *FREE_PORTS, *arguments]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"]
    names = {check["name"]: check for check in report["checks"]}
    assert "a step of LoRA" in names["model random:llama-tiny"]["found"]


def test_the_doctor_names_every_problem_with_a_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "a-file"
    taken.touch()
    arguments = ["--device", "cpu", "--checkpoints", str(taken), "--host", "192.0.2.1", "--port", "50051"]
    assert main(["doctor", *arguments, "--model", str(taken), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    problems = {check["name"]: check for check in report["checks"] if check["status"] == "problem"}
    assert {"checkpoints", "training port", "access"} <= problems.keys()
    assert all(check["remedy"] for check in problems.values())
