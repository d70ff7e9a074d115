"""Images in prompts of the endpoint: the trainer scores responses to them as the sampler does."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from openai import APIStatusError
from tests.engine.a_batch import a_loss, no_progress
from tests.engine.an_image import PART, VISION_SOURCE, an_image
from tests.inference.serving import MODEL_ID, ask_model

from agentlightning_runtime.contract.batch import AdamParameters, Batch, Datum, TrainedSpan
from agentlightning_runtime.contract.settings import EngineSettings, LoraSettings, ModelRequest
from agentlightning_runtime.create_engine import create_engine

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from agentlightning_runtime.contract.engine import EngineModel
    from agentlightning_runtime.contract.images import Image


def content_of(*parts: str | Image) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": url_of(part.data)}}
        for part in parts
    ]


def url_of(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def user(*parts: str | Image) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content_of(*parts)}]


@pytest.fixture(params=[None, LoraSettings(rank=4, alpha=8.0)], ids=["full", "lora"])
def model(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[EngineModel]:
    engine = create_engine(
        EngineSettings(base_models={"base": VISION_SOURCE}, checkpoint_directory=tmp_path, device="cpu")
    )
    try:
        yield engine.create_model(ModelRequest(MODEL_ID, "base", seed=1, lora=request.param))
    finally:
        engine.close()


def datum_of(answer: Any, choice: Any, images: Sequence[Image]) -> Datum:
    start, end = len(answer.prompt_token_ids), len(answer.prompt_token_ids) + len(choice.token_ids)
    logprobs = np.array([entry.logprob for entry in choice.logprobs.content], dtype=np.float32)
    ones = np.ones_like(logprobs)
    tokens = np.array([*answer.prompt_token_ids, *choice.token_ids], dtype=np.int32)
    return Datum(tokens, [TrainedSpan(start, end)], logprobs, ones, ones, 1.0, images=images)


def test_sampler_and_trainer_agree_on_prompts_with_images(model: EngineModel) -> None:
    first, second = an_image(1), an_image(2, width=32, height=16)
    prompts = [[first], [first, second], [second], []]
    for version in range(2):
        url = model.endpoint().base_url
        data: list[Datum] = []
        for images in prompts:
            # Responses of different prompts run in one batch; those of one prompt share its prefill.
            messages = user("Which of them?", *images, "Say it.")
            answer = ask_model(url, messages=messages, n=3, seed=version, max_tokens=12)
            assert answer.prompt_token_ids.count(PART) == sum(image_tokens(image) for image in images)
            data.extend(datum_of(answer, choice, images) for choice in answer.choices)
        found = model.forward(Batch(data), use_reference=False, progress=no_progress).logprobs
        for mine, datum in zip(found, data, strict=True):
            np.testing.assert_allclose(mine, datum.sampling_logprobs, rtol=0, atol=1e-4)
        model.forward_backward(Batch(data), a_loss(), no_progress)
        model.optim_step(AdamParameters(learning_rate=0.02))
        model.publish_weights()


def image_tokens(image: Image) -> int:
    return {an_image(1).digest: 4, an_image(2, width=32, height=16).digest: 8}[image.digest]


def test_a_conversation_with_an_image_continues_by_token_ids(model: EngineModel) -> None:
    image, url = an_image(1), model.endpoint().base_url
    first = ask_model(url, messages=user("What is it?", image), seed=1, max_tokens=8)
    said = first.choices[0]
    messages = [
        *user("What is it?", image),
        {"role": "assistant", "content": said.message.content},
        {"role": "user", "content": "Sure?"},
    ]
    prompt = [*first.prompt_token_ids, *said.token_ids, 10, 11]
    answer = ask_model(url, messages=messages, seed=2, max_tokens=8, extra_body={"prompt_token_ids": prompt})
    assert answer.prompt_token_ids == prompt
    datum = datum_of(answer, answer.choices[0], [image])
    found = model.forward(Batch([datum]), use_reference=False, progress=no_progress).logprobs
    np.testing.assert_allclose(found[0], datum.sampling_logprobs, rtol=0, atol=1e-4)


def test_images_beyond_the_context_are_refused(model: EngineModel) -> None:
    images = [an_image(seed, width=64, height=64) for seed in range(9)]
    with pytest.raises(APIStatusError, match="576 tokens") as caught:
        ask_model(model.endpoint().base_url, messages=user(*images), max_tokens=2)
    assert caught.value.status_code == 400


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, "not a data URL"),
        ({"type": "image_url", "image_url": {"url": url_of(b"nothing")}}, "cannot be read"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,@@"}}, "cannot be read"),
        ({"type": "image_url"}, "not a data URL"),
        ({"type": "text", "text": "<|image_pad|>"}, "has 1 placeholders for 0 images"),
        ({"type": "input_audio", "input_audio": {}}, "is not a text"),
    ],
)
def test_what_is_not_an_image_is_refused(model: EngineModel, part: dict[str, Any], problem: str) -> None:
    with pytest.raises(APIStatusError, match=problem) as caught:
        ask_model(model.endpoint().base_url, messages=[{"role": "user", "content": [part]}], max_tokens=2)
    assert caught.value.status_code == 400
