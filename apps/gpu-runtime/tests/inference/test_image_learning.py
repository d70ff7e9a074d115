"""A small vision-language model learns to count squares from rewards, in images that it has not seen."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image as pillow  # noqa: N813
from tests.engine.a_batch import a_loss, no_progress
from tests.engine.an_image import VISION_SOURCE, a_datum_of
from tests.inference.serving import MODEL_ID, ask_model
from tests.inference.test_prompt_images import datum_of, user

from agentlightning_runtime.contract.batch import AdamParameters, Batch
from agentlightning_runtime.contract.images import Image
from agentlightning_runtime.contract.settings import EngineSettings, ModelRequest
from agentlightning_runtime.create_engine import create_engine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentlightning_runtime.contract.batch import Datum
    from agentlightning_runtime.contract.engine import EngineModel

_CELL = 8
_COLUMNS = 3
_COUNTS = (1, 2, 3)
_GROUP = 16

#: All placements of squares by their number; every third is held out.
_PLACES = {count: list(itertools.combinations(range(_COLUMNS**2), count)) for count in _COUNTS}
_TRAIN = {count: [cells for at, cells in enumerate(places) if at % 3] for count, places in _PLACES.items()}
_HELD_OUT = [(count, cells) for count, places in _PLACES.items() for cells in places[::3][:10]]


@pytest.mark.long
def test_it_learns_to_count_squares(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    engine = create_engine(
        EngineSettings(base_models={"base": VISION_SOURCE}, checkpoint_directory=tmp_path, device="cpu")
    )

    def drawn(number: int) -> list[tuple[int, Image]]:
        chosen = [(count, _TRAIN[count][random.integers(len(_TRAIN[count]))]) for count in _COUNTS * number]
        return [(count, with_squares(cells)) for count, cells in chosen]

    try:
        model = engine.create_model(ModelRequest(MODEL_ID, "base", seed=1))
        # A few demonstrations, so that numbers are written at all.
        for _ in range(20):
            data = [a_demonstration(model, count, image) for count, image in drawn(8)]
            model.forward_backward(Batch(data), a_loss("cross_entropy"), no_progress)
            model.optim_step(AdamParameters(learning_rate=1e-3))
        model.publish_weights()
        before = held_out_reward(model)
        for step in range(40):
            groups = [rollouts(model, count, image, seed=step) for count, image in drawn(4)]
            data = [datum for group in groups for datum in compared(group)]
            if data:
                model.forward_backward(Batch(data), a_loss(entropy_coefficient=0.02), no_progress)
                model.optim_step(AdamParameters(learning_rate=1e-3))
                model.publish_weights()
        after = held_out_reward(model)
    finally:
        engine.close()
    # Without the image, a third of the answers is right.
    assert before < 0.5
    assert after > 0.9


def with_squares(cells: Sequence[int]) -> Image:
    """White squares in cells of a black image of three by three."""
    pixels = np.zeros((_COLUMNS * _CELL, _COLUMNS * _CELL, 3), dtype=np.uint8)
    for cell in cells:
        top, left = (place * _CELL for place in divmod(cell, _COLUMNS))
        pixels[top + 1 : top + _CELL - 1, left + 1 : left + _CELL - 1] = 255
    file = io.BytesIO()
    pillow.fromarray(pixels).save(file, format="PNG")
    return Image.of(file.getvalue())


def a_demonstration(model: EngineModel, count: int, image: Image) -> Datum:
    answer = ask_model(model.endpoint().base_url, messages=user(image), max_tokens=1)
    return a_datum_of(answer.prompt_token_ids, [ord(str(count))], [image])


def rollouts(model: EngineModel, count: int, image: Image, *, seed: int) -> list[tuple[Datum, float]]:
    """Responses to an image with their rewards: 1 for the number of squares."""
    answer = ask_model(model.endpoint().base_url, messages=user(image), n=_GROUP, seed=seed, max_tokens=1)
    return [
        (datum_of(answer, choice, [image]), float(choice.message.content == str(count))) for choice in answer.choices
    ]


def compared(group: Sequence[tuple[Datum, float]]) -> list[Datum]:
    """The data of a group with GRPO's advantages; none when all rewards are equal."""
    rewards = np.array([reward for _, reward in group], dtype=np.float32)
    if np.ptp(rewards) == 0:
        return []
    advantages = (rewards - rewards.mean()) / rewards.std()
    return [
        replace(datum, advantages=each * datum.advantages, weights=datum.weights / np.float32(12 * _GROUP))
        for each, (datum, _) in zip(advantages, group, strict=True)
    ]


def held_out_reward(model: EngineModel) -> float:
    found = [rollouts(model, count, with_squares(cells), seed=99) for count, cells in _HELD_OUT]
    return float(np.mean([reward for group in found for _, reward in group]))
