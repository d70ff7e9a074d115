"""Client-visible effects of pauses, new weights, and unloaded models."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import httpx2
import openai
import pytest
import torch
from tests.inference.serving import MODEL_ID, Serving, ask, serving

from agentlightning_runtime.inference.sampling.decoding_batch import DecodingBatch
from agentlightning_runtime.inference.sampling.model_queue import ModelQueue
from agentlightning_runtime.inference.sampling.sampler import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentlightning_runtime.inference.sampling.generation import Generation, GenerationRequest


@pytest.fixture
def served() -> Iterator[Serving]:
    with serving() as one:
        yield one


def test_a_paused_model_answers_503_with_the_time_to_come_again(served: Serving) -> None:
    state = served.backend.pause(MODEL_ID, "drain")
    assert (state.is_paused, state.in_flight, state.policy_version) == (True, 0, 3)
    with pytest.raises(openai.InternalServerError) as caught:
        ask(served)
    assert caught.value.status_code == 503
    assert caught.value.response.headers["retry-after"] == "1"
    assert caught.value.code == "RUNTIME_UNAVAILABLE"
    assert not served.backend.resume(MODEL_ID).is_paused
    assert ask(served).choices


def test_published_weights_answer_the_next_request(served: Serving) -> None:
    before = ask(served, seed=1)
    with torch.no_grad():
        for parameter in served.causal_lm.parameters():
            parameter.mul_(0.7)
    assert ask(served, seed=1).choices[0].token_ids == before.choices[0].token_ids
    served.backend.publish(served.model, 4)
    after = ask(served, seed=1)
    assert (before.policy_version, after.policy_version) == (3, 4)
    assert after.choices[0].logprobs != before.choices[0].logprobs
    assert served.backend.endpoint(MODEL_ID).policy_version == 4


def test_an_aborted_pause_breaks_a_stream_off_with_an_error(served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    # Decoding waits for the pause: on a slow machine the response would end before it.
    is_aborted = threading.Event()
    abort, step = ModelQueue.abort, DecodingBatch.step

    def abort_and_continue(self: ModelQueue, reason: str) -> None:
        abort(self, reason)
        is_aborted.set()

    def step_after_abort(self: DecodingBatch) -> None:
        assert is_aborted.wait(60)
        step(self)

    monkeypatch.setattr(ModelQueue, "abort", abort_and_continue)
    monkeypatch.setattr(DecodingBatch, "step", step_after_abort)
    stream = ask(served, max_tokens=400, stream=True, seed=3)
    next(iter(stream))
    pausing = threading.Thread(target=served.backend.pause, args=(MODEL_ID, "abort"))
    pausing.start()
    with pytest.raises(openai.APIError, match="was paused"):
        list(stream)
    pausing.join(60)


@pytest.mark.parametrize("streams", [True, False])
def test_who_hangs_up_is_sampled_no_further(served: Serving, monkeypatch: pytest.MonkeyPatch, *, streams: bool) -> None:
    submitted: list[Generation] = []
    arrived = threading.Event()
    submit = Sampler.submit

    def recorded(self: Sampler, model_id: str, requests: list[GenerationRequest]) -> list[Generation]:
        submitted.extend(submit(self, model_id, requests))
        arrived.set()
        return submitted

    monkeypatch.setattr(Sampler, "submit", recorded)
    fields = {"model": MODEL_ID, "messages": [{"role": "user", "content": "a"}], "max_tokens": 480, "n": 100}
    body = json.dumps({**fields, "stream": streams}).encode()
    url = httpx2.URL(served.backend.base_url)
    with socket.create_connection((url.host, url.port or 0), timeout=60) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {url.host}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert arrived.wait(60)
    assert served.backend.pause(MODEL_ID, "drain").in_flight == 0
    errors = [str(generation.error) for generation in submitted if generation.error is not None]
    assert errors
    assert all("disconnected" in error for error in errors)


def test_a_model_that_was_removed_is_not_found(served: Serving) -> None:
    served.backend.remove(MODEL_ID)
    with pytest.raises(openai.NotFoundError, match='Unknown model "policy"'):
        ask(served)
    assert list(served.client.models.list()) == []


def test_a_closed_endpoint_answers_nobody() -> None:
    with serving() as one:
        url = one.backend.base_url
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{url}/models", timeout=5)
