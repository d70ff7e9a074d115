"""The weight transfer of a real vLLM, with gloo instead of NCCL: what it rejects, and what follows a failure."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
import torch
from tests.inference.scripted_vllm import ScriptedVllm
from tests.inference.serving import MODEL_ID, ask_model
from tests.vllm.gloo_communicator import install_in_this_process, plugin_path
from tests.vllm.real_vllm import (
    ARGUMENTS,
    WITH_VLLM,
    a_folder_with_a_model,
    servers,
    train_and_publish,
    wait_for_request,
)

from agentlightning_runtime.contract.errors import EngineError
from agentlightning_runtime.contract.inference_backend import TensorOutline, WeightStream
from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest, SamplerPlacement
from agentlightning_runtime.create_engine import create_engine
from agentlightning_runtime.inference.experimental.vllm.vllm_command import VllmModel
from agentlightning_runtime.inference.experimental.vllm.weight_transfer import WeightTransfer

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from torch import Tensor

pytestmark = WITH_VLLM

#: In this order. The last ends the update that the one before has begun.
_WRONG: list[tuple[str, dict[str, Any] | None]] = [
    ("/update_weights", {"update_info": {}}),
    ("/update_weights", {}),
    ("/finish_weight_update", None),
    ("/init_weight_transfer_engine", {}),
    ("/init_weight_transfer_engine", {"init_info": {"other": 1}}),
    ("/shutdown_weight_transfer_engine", None),
    ("/start_weight_update", None),
    ("/start_weight_update", None),
    ("/shutdown_weight_transfer_engine", None),
    ("/update_weights", {"update_info": {"names": ["a"], "dtype_names": [], "shapes": []}}),
    ("/finish_weight_update", None),
    ("/start_weight_update", None),
    ("/finish_weight_update", None),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return a_folder_with_a_model(tmp_path_factory.mktemp("base"), is_tied=False)


@pytest.fixture(scope="module")
def urls(base: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[list[str]]:
    flags = "--logprobs-mode processed_logprobs --generation-config vllm --dtype float32 --served-model-name base"
    arguments = [
        "--model",
        base,
        *flags.split(),
        *ARGUMENTS,
        "--enable-scale-out",
        "--weight-transfer-config",
        '{"backend": "nccl"}',
    ]
    plugin = plugin_path(tmp_path_factory.mktemp("plugin"))
    with servers(2, *arguments, VLLM_SERVER_DEV_MODE="1", PYTHONPATH=plugin) as started:
        yield started


def test_the_scripted_server_rejects_what_vllm_rejects(base: str, urls: list[str]) -> None:
    scripted = ScriptedVllm(VllmModel(base, 0, None, "hermes"), transfer="nccl")
    try:
        for asked in ("/server_info?config_format=json", "/get_world_size"):
            real, ours = (httpx2.get(f"{root}{asked}", timeout=60).json() for root in (urls[0], scripted.root_url))
            assert _within(ours, real)
        # Each by another connection: after an error of a worker, vLLM closes it.
        found = [
            [httpx2.post(f"{root}{path}", json=body, timeout=60).status_code for path, body in _WRONG]
            for root in (urls[0], scripted.root_url)
        ]
        assert found[0] == found[1]
        assert found[0] == [500, 400, 500, 400, 500, 200, 200, 500, 500, 500, 500, 200, 200]
    finally:
        scripted.stop()


@pytest.mark.parametrize("in_flight", [False, True])
def test_a_rejected_tensor_fails_the_publication_and_the_next_one_repairs(
    base: str, urls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_flight: bool
) -> None:
    install_in_this_process(monkeypatch)
    settings = EngineSettings(
        base_models={"base": base},
        checkpoint_directory=tmp_path / "checkpoints",
        device="cpu",
        dtype="float32",
        sampler=SamplerPlacement(urls=urls, in_flight=in_flight),
    )
    engine = create_engine(settings)
    try:
        model = engine.create_model(ModelRequest(MODEL_ID, "base", seed=1))
        # The probe of each publication samples from both.
        train_and_publish(model, 1)
        send = WeightTransfer.send

        def send_more(self: WeightTransfer, weights: WeightStream) -> None:
            send(self, _with_one_more(weights))

        base_url = model.endpoint().base_url
        with monkeypatch.context() as patch, ThreadPoolExecutor(1) as pool:
            patch.setattr(WeightTransfer, "send", send_more)
            asking = pool.submit(_ask_long, base_url) if in_flight else None
            if asking is not None:
                wait_for_request(urls[0])
            with pytest.raises(EngineError, match="There is no module or parameter named"):
                model.publish_weights()
            if asking is not None:
                with pytest.raises(openai.InternalServerError, match="publication of weights failed"):
                    asking.result()
            with pytest.raises(openai.InternalServerError, match="may have parts of the weights"):
                ask_model(base_url)
        model.publish_weights()
        train_and_publish(model, 1)
    finally:
        engine.close()


def _ask_long(base_url: str) -> Any:
    return ask_model(base_url, n=4, max_tokens=440, extra_body={"ignore_eos": True})


def _with_one_more(weights: WeightStream) -> WeightStream:
    extra = TensorOutline("model.other.weight", (3,), torch.float32)

    def read() -> Iterator[tuple[str, Tensor]]:
        yield from weights.read()
        yield extra.name, torch.zeros(extra.shape)

    return replace(weights, outline=[*weights.outline, extra], read=read)


def _within(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        return all(name in whole and _within(value, whole[name]) for name, value in part.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return part == whole
