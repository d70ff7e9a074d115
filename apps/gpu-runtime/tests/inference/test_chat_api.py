"""Chat completions through the official client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
import torch
from tests.inference.serving import MODEL_ID, Serving, ask, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def served() -> Iterator[Serving]:
    with serving() as one:
        yield one


def test_an_answer_tells_its_tokens_their_logprobs_and_the_policy_version(served: Serving) -> None:
    answer = ask(served, seed=5, top_logprobs=3)
    choice = answer.choices[0]
    assert answer.policy_version == 3
    assert bytes(answer.prompt_token_ids[1:6]) == b"user\n"
    assert len(choice.token_ids) == len(choice.logprobs.content) == answer.usage.completion_tokens
    assert answer.usage.prompt_tokens == len(answer.prompt_token_ids)
    for entry in choice.logprobs.content:
        assert len(entry.top_logprobs) == 3
        assert entry.top_logprobs[0].logprob >= entry.logprob
        assert entry.logprob < 0


def test_the_header_tells_the_policy_version_too(served: Serving) -> None:
    body = {"model": MODEL_ID, "messages": [{"role": "user", "content": "a"}], "max_tokens": 1}
    answer = httpx2.post(f"{served.backend.base_url}/chat/completions", json=body, timeout=60)
    assert answer.headers["x-agl-policy-version"] == "3"


def test_a_stream_says_what_the_whole_answer_says(served: Serving) -> None:
    whole = ask(served, seed=11, max_tokens=40, n=2)
    chunks = list(ask(served, seed=11, max_tokens=40, n=2, stream=True, stream_options={"include_usage": True}))
    assert chunks[0].prompt_token_ids == whole.prompt_token_ids
    assert chunks[-1].usage == whole.usage
    assert all(chunk.policy_version == 3 for chunk in chunks)
    for index, choice in enumerate(whole.choices):
        parts = [part for chunk in chunks for part in chunk.choices if part.index == index]
        assert "".join(part.delta.content or "" for part in parts) == choice.message.content
        assert [token for part in parts for token in getattr(part, "token_ids", None) or []] == choice.token_ids
        entries = [entry for part in parts if part.logprobs for entry in part.logprobs.content or []]
        assert entries == choice.logprobs.content
        assert parts[-1].finish_reason == choice.finish_reason


def test_tokens_are_told_to_nobody_who_does_not_ask(served: Serving) -> None:
    answer = served.client.chat.completions.create(
        model=MODEL_ID, messages=[{"role": "user", "content": "a"}], max_tokens=3
    )
    said = answer.to_dict()
    assert "prompt_token_ids" not in said
    assert answer.choices[0].logprobs is None
    assert "token_ids" not in answer.choices[0].to_dict()


def test_the_same_seed_gives_the_same_answer_and_choices_differ(served: Serving) -> None:
    first, again = ask(served, seed=7, n=3), ask(served, seed=7, n=3)
    tokens = [choice.token_ids for choice in first.choices]
    assert tokens == [choice.token_ids for choice in again.choices]
    assert len({tuple(one) for one in tokens}) == 3


def test_a_stop_text_ends_the_answer_and_is_cut_off_but_its_tokens_stay(served: Serving) -> None:
    free = ask(served, seed=1, max_tokens=30).choices[0]
    stop = bytes(free.token_ids[6:8]).decode(errors="ignore") or chr(free.token_ids[6])
    letters = [index for index in range(4, 28) if 32 < free.token_ids[index] < 127]
    stop = chr(free.token_ids[letters[0]])
    choice = ask(served, seed=1, max_tokens=30, stop=[stop]).choices[0]
    assert choice.finish_reason == "stop"
    assert choice.stop_reason == stop
    assert stop not in choice.message.content
    assert choice.token_ids == free.token_ids[: len(choice.token_ids)]
    assert choice.token_ids[-1] == ord(stop)
    chunks = list(ask(served, seed=1, max_tokens=30, stop=[stop], stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == choice.message.content


def test_a_forced_message_has_its_tokens_and_logprobs(served: Serving) -> None:
    answer = ask(served, max_tokens=1, stop=["a"], extra_body={"forced_message": {"content": "aba"}})
    choice = answer.choices[0]
    assert choice.message.content == "aba"
    assert choice.finish_reason == "stop"
    assert bytes(choice.token_ids[:-1]) == b"aba"
    with torch.no_grad():
        logits = served.causal_lm(torch.tensor([answer.prompt_token_ids + choice.token_ids])).logits
    scores = logits[0, -5:-1, : served.model.output_size].log_softmax(-1)
    expected = scores.gather(1, torch.tensor(choice.token_ids).unsqueeze(1)).squeeze(1).tolist()
    assert [entry.logprob for entry in choice.logprobs.content] == pytest.approx(expected, abs=1e-4)


def test_a_forced_message_may_be_a_tool_call(served: Serving) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    tools: list[Any] = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    choice = ask(served, tools=tools, extra_body={"forced_message": {"tool_calls": [call]}}).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls[0].function.arguments == '{"a": 1}'


def test_a_stop_token_ends_the_answer(served: Serving) -> None:
    free = ask(served, seed=2, max_tokens=30).choices[0].token_ids
    choice = ask(served, seed=2, max_tokens=30, extra_body={"stop_token_ids": [free[5]]}).choices[0]
    assert choice.finish_reason == "stop"
    assert choice.stop_reason == free[5]
    assert choice.token_ids == free[: free.index(free[5]) + 1]


def test_models_and_health_are_told(served: Serving) -> None:
    assert [model.id for model in served.client.models.list()] == [MODEL_ID]
    root = served.backend.base_url.removesuffix("/v1")
    assert httpx2.get(f"{root}/health").json() == {"status": "ok"}


def test_a_completion_goes_on_with_text_or_tokens(served: Serving) -> None:
    text = served.client.completions.create(
        model=MODEL_ID, prompt="abc", max_tokens=5, seed=1, logprobs=1, extra_body={"return_token_ids": True}
    )
    ids = served.client.completions.create(
        model=MODEL_ID, prompt=[97, 98, 99], max_tokens=5, seed=1, logprobs=1, extra_body={"return_token_ids": True}
    )
    choice: dict[str, Any] = text.choices[0].to_dict()
    assert choice == ids.choices[0].to_dict()
    assert choice["prompt_token_ids"] == [97, 98, 99]
    logprobs = choice["logprobs"]
    assert isinstance(logprobs, dict)
    assert len(logprobs["token_logprobs"]) == len(choice["token_ids"]) == 5


def test_a_completion_streams(served: Serving) -> None:
    fields: dict[str, Any] = {"model": MODEL_ID, "prompt": "abc", "max_tokens": 20, "seed": 4}
    whole = served.client.completions.create(**fields)
    chunks = list(served.client.completions.create(**fields, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"temperature": -1}, "temperature", "temperature is '-1'"),
        ({"messages": []}, "messages", "at least 1"),
        ({"response_format": {"type": "json_object"}}, "response_format", "not support response_format"),
        ({"tool_choice": "required"}, "tool_choice", "cannot force a tool"),
        ({"frequency_penalty": 0.5}, "frequency_penalty", "frequency_penalty is 0.5"),
        ({"messages": [{"role": "user", "content": "x" * 600}]}, "messages", "context is 512"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
            "messages",
            'content part "image_url"',
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_field(
    served: Serving, fields: dict[str, object], param: str, words: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        ask(served, **fields)
    assert caught.value.param == param
    assert words in caught.value.message


def test_a_prompt_that_is_too_long_has_the_code_of_openai(served: Serving) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        ask(served, messages=[{"role": "user", "content": "x" * 600}])
    assert caught.value.code == "context_length_exceeded"


def test_an_unknown_model_and_an_unknown_path_are_not_found(served: Serving) -> None:
    with pytest.raises(openai.NotFoundError, match='Unknown model "other"'):
        ask(served, model="other")
    with pytest.raises(openai.NotFoundError, match="Unknown route POST /v1/embeddings"):
        served.client.embeddings.create(model=MODEL_ID, input="a")


def test_a_body_that_is_no_json_is_refused(served: Serving) -> None:
    answer = httpx2.post(f"{served.backend.base_url}/chat/completions", content=b"{", timeout=60)
    assert answer.status_code == 400
    assert "not JSON" in answer.json()["error"]["message"]


def test_a_body_that_is_too_large_is_refused(served: Serving) -> None:
    # Repeated: a response sent before the body is complete is lost only sometimes.
    for _ in range(10):
        answer = httpx2.post(f"{served.backend.base_url}/chat/completions", content=b"x" * (32 * 2**20 + 1), timeout=60)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_a_key_is_asked_for_where_one_is_set() -> None:
    with serving(api_key="secret") as locked:
        assert ask(locked, max_tokens=1).choices
        stranger = openai.OpenAI(base_url=locked.backend.base_url, api_key="wrong", max_retries=0)
        with pytest.raises(openai.AuthenticationError, match="no valid API key"):
            stranger.models.list()


def test_a_user_sees_and_calls_own_models_only() -> None:
    users = {"alice": "key-of-alice", "bob": "key-of-bob"}
    with serving(users=users, prefix="alice.") as shared:

        def status(user: str, path: str, **content: object) -> int:
            url = f"{shared.backend.base_url}/{path}"
            headers = {"authorization": f"Bearer {users[user]}"}
            return httpx2.post(url, json={"max_tokens": 1, **content}, headers=headers, timeout=60).status_code

        def listed(user: str) -> list[str]:
            client = openai.OpenAI(base_url=shared.backend.base_url, api_key=users[user], max_retries=0)
            return [each.id for each in client.models.list()]

        model = f"alice.{MODEL_ID}"
        chat = {"model": model, "messages": [{"role": "user", "content": "a"}]}
        assert (listed("alice"), listed("bob")) == ([model], [])
        assert (status("alice", "chat/completions", **chat), status("bob", "chat/completions", **chat)) == (200, 404)
        completion = {"model": model, "prompt": "a"}
        assert (status("alice", "completions", **completion), status("bob", "completions", **completion)) == (200, 404)


def test_an_answer_is_json_to_the_last_byte(served: Serving) -> None:
    body = {"model": MODEL_ID, "messages": [{"role": "user", "content": "a"}], "max_tokens": 4, "stream": True}
    answer = httpx2.post(f"{served.backend.base_url}/chat/completions", json=body, timeout=60)
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line]
    assert events[-1] == "[DONE]"
    assert all(json.loads(event)["object"] == "chat.completion.chunk" for event in events[:-1])


def test_a_prompt_of_token_ids_replaces_the_messages(served: Serving) -> None:
    messages = [{"role": "user", "content": "a"}]
    body = {"model": MODEL_ID, "messages": messages}
    root = served.backend.base_url.removesuffix("/v1")
    rendered = httpx2.post(f"{root}/tokenize", json=body, timeout=60).json()
    plain = ask(served, messages=messages, seed=4)
    assert rendered["tokens"] == plain.prompt_token_ids
    assert rendered["count"] == len(rendered["tokens"])
    without = httpx2.post(f"{root}/tokenize", json={**body, "add_generation_prompt": False}, timeout=60).json()
    assert rendered["tokens"][: without["count"]] == without["tokens"] != rendered["tokens"]
    given = ask(served, seed=4, extra_body={"prompt_token_ids": rendered["tokens"]})
    assert given.prompt_token_ids == rendered["tokens"]
    assert given.choices[0].token_ids == plain.choices[0].token_ids


@pytest.mark.parametrize("tokens", [[], [-1], [10**6], ["a"]])
def test_a_prompt_of_other_ids_is_refused(served: Serving, tokens: list[Any]) -> None:
    with pytest.raises(openai.BadRequestError):
        ask(served, extra_body={"prompt_token_ids": tokens})
