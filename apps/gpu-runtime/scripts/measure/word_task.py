"""Tasks of the training: countries of cities for a language model, letters for a model with random weights."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CITIES = Path(__file__).resolve().parents[4] / "examples" / "smollm2-capitals" / "tasks"


@dataclass(frozen=True, slots=True)
class WordTask:
    """A prompt, and the reward of a response to it, from 0 to 1."""

    messages: Sequence[dict[str, str]]
    reward: Callable[[str], float]


@dataclass(frozen=True, slots=True)
class WordTasks:
    """Tasks to train with, and held-out ones."""

    train: Sequence[WordTask]
    test: Sequence[WordTask]


def load_cities() -> WordTasks:
    """The tasks of the example `smollm2-capitals`: name the country of a city, and nothing else."""
    return WordTasks(train=_cities("train"), test=_cities("test"))


def letters() -> WordTasks:
    """Write lower-case letters: a model with random weights does so for a tenth of its bytes."""
    tasks = [WordTask([{"role": "user", "content": f"Write {n}."}], _share_of_letters) for n in range(24)]
    return WordTasks(train=tasks[:16], test=tasks[16:])


def _cities(name: str) -> list[WordTask]:
    lines = (CITIES / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [_city_task(**json.loads(line)) for line in lines]


def _city_task(city: str, country: str) -> WordTask:
    messages = [
        {"role": "system", "content": "Reply with the name of the country only."},
        {"role": "user", "content": f"In which country is {city}?"},
    ]
    return WordTask(messages, lambda text: score_country(text, country))


def score_country(text: str, country: str) -> float:
    """1 for the country alone; less for one among other words, most of it when the response begins with it."""
    response = text.strip().removesuffix(".")
    if response == country:
        return 1.0
    if country not in response:
        return 0.0
    return (0.4 if response.startswith(country) else 0.1) + 0.2 * len(country) / len(response)


def _share_of_letters(text: str) -> float:
    return sum("a" <= character <= "z" for character in text) / max(1, len(text))
