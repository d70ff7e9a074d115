"""Two real vLLM servers that run elsewhere are replicas of the sampler; planted faults fail the publication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from tests.engine.a_batch import a_batch
from tests.inference.serving import MODEL_ID, ask_model
from tests.vllm.real_vllm import ARGUMENTS, WITH_VLLM, a_folder_with_a_model, servers, step, train_and_publish

from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest, SamplerPlacement
from agentlightning_runtime.create_engine import create_engine
from agentlightning_runtime.inference.experimental.vllm.replicas import Replicas
from agentlightning_runtime.inference.experimental.vllm.server_api import VllmApi

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from agentlightning_runtime.contract.engine import EngineModel
    from agentlightning_runtime.contract.inference_backend import ProbeResponse

pytestmark = WITH_VLLM

_KEY = "secret"
_LORA = LoraSettings(rank=4, alpha=8.0)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return a_folder_with_a_model(tmp_path_factory.mktemp("base"), is_tied=True)


@pytest.fixture(scope="module")
def urls(base: str) -> Generator[list[str]]:
    flags = "--enable-lora --max-lora-rank 16 --max-loras 4 --logprobs-mode processed_logprobs --generation-config vllm"
    arguments = ["--model", base, *flags.split(), "--dtype", "float32", *ARGUMENTS]
    with servers(2, *arguments, VLLM_ALLOW_RUNTIME_LORA_UPDATING="True", VLLM_API_KEY=_KEY) as started:
        yield started


@pytest.fixture
def model(base: str, urls: list[str], tmp_path: Path) -> Generator[EngineModel]:
    settings = EngineSettings(
        base_models={"base": base},
        checkpoint_directory=tmp_path / "checkpoints",
        device="cpu",
        dtype="float32",
        sampler=SamplerPlacement(urls=urls, api_key=_KEY, folder=tmp_path / "published"),
    )
    engine = create_engine(settings)
    try:
        yield engine.create_model(ModelRequest(MODEL_ID, "base", seed=1, lora=_LORA))
    finally:
        engine.close()


def test_both_have_every_version_and_keep_no_adapter(model: EngineModel, urls: list[str]) -> None:
    train_and_publish(model, 2)
    for url in urls:
        assert _adapters(url) == [f"{MODEL_ID}-v2-p3"]
    model.unload()
    assert [_adapters(url) for url in urls] == [[], []]


@pytest.mark.parametrize(("stale", "share"), [([0, 1], "16 of 16"), ([1], "8 of 16")])
def test_a_replica_that_keeps_the_adapter_fails_the_publication(
    model: EngineModel, monkeypatch: pytest.MonkeyPatch, stale: list[int], share: str
) -> None:

    def load(self: Replicas, adapter: str, folder: Path) -> None:
        """Stale replicas load the first adapter, which is zero, under the new name."""
        first = folder.parent / f"{MODEL_ID}-v0-p1"
        clients: list[httpx2.Client] = vars(self)["_clients"]
        for index, client in enumerate(clients):
            (request,) = VllmApi().load_adapter(adapter, first if index in stale else folder)
            client.post(request[0], json=request[1]).raise_for_status()

    monkeypatch.setattr(Replicas, "load_adapter", load)
    _check_mismatch(model, share)


def test_a_base_that_is_served_instead_of_the_adapter_fails_the_publication(
    model: EngineModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = Replicas.complete

    def complete_with_base(
        self: Replicas, prompts: Sequence[Sequence[int]], _adapter: str | None, body: Callable[[int], dict[str, Any]]
    ) -> list[ProbeResponse]:
        return complete(self, prompts, None, body)

    monkeypatch.setattr(Replicas, "complete", complete_with_base)
    _check_mismatch(model, "16 of 16")


def test_a_prefix_cache_that_survives_a_publication_is_not_used(model: EngineModel) -> None:
    prompt = {"temperature": 0.0, "max_tokens": 16}
    before = ask_model(model.endpoint().base_url, **prompt)
    for _ in range(4):
        step(model, a_batch().data)
    model.publish_weights()
    after = ask_model(model.endpoint().base_url, **prompt)
    assert after.choices[0].token_ids != before.choices[0].token_ids


def _adapters(url: str) -> list[str]:
    models = httpx2.get(f"{url}/v1/models", headers={"authorization": f"Bearer {_KEY}"}).raise_for_status().json()
    return [each["id"] for each in models["data"] if each["parent"]]


def _check_mismatch(model: EngineModel, share: str) -> None:
    """The first steps change the weights by more than rounding."""
    for _ in range(4):
        step(model, a_batch().data)
    with pytest.raises(EngineError, match="does not sample from policy version 1") as caught:
        model.publish_weights()
    assert caught.value.reason == EngineErrorReason.WEIGHT_MISMATCH
    assert share in caught.value.message
