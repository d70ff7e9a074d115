"""Records how Transformers renders and tokenizes conversations, as the reference of the TypeScript renderer.

    PYTHONPATH=apps/gpu-runtime/src python packages/runtime-tinker/test/renderings/record.py

Writes `tokenizer.json`, `tokenizer_config.json` and `renderings.json` beside this file. The tokenizer has a token for
each byte and merges of frequent pairs; the templates are written in the manner of Qwen, Llama and Mistral.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from agentlightning_runtime.inference.text.chat_template import ChatTemplate

FOLDER = Path(__file__).parent
NAMED = ["<s>", "<|im_start|>", "<|im_end|>", "<|sep|>", "<|python_tag|>", "[TOOL_CALLS]", "[INST]", "[/INST]"]

ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two numbers – ganze Zahlen, <b>quoted</b> & 'so'.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "number", "enum": [1, 2.5]}},
            "required": ["a", "b"],
        },
    },
}
NOW = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}


def call(name: str, arguments: str, call_id: str = "call00001") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


USER = {"role": "user", "content": "What is 2 + 3?"}
SYSTEM = {"role": "system", "content": "Be brief.\n"}
CALLED = {"role": "assistant", "content": None, "tool_calls": [call("add", '{"a": 2, "b": 3, "note": "ä\\n\\"q\\""}')]}
RESULT = {"role": "tool", "tool_call_id": "call00001", "content": "5"}
SAID = {"role": "assistant", "content": "It is 5."}
THOUGHT = {"role": "assistant", "content": "<think>\nTwo and three.\n</think>\n\nIt is 5."}
PARTS = {"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "text", "text": "日本語 👩‍👩‍👧‍👦 e\u0301 <|im_end|>"}]}
PARALLEL = {
    "role": "assistant",
    "content": "Both.",
    "tool_calls": [call("add", '{"a": -1, "b": 0.5}'), call("now", "{}", "call00002")],
}
LATER = {"role": "tool", "tool_call_id": "call00002", "content": "12:00"}

CONVERSATIONS: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]] = [
    ("turns", [USER], [], {}),
    ("turns", [SYSTEM, USER], [ADD, NOW], {}),
    ("turns", [SYSTEM, USER, CALLED, RESULT], [ADD], {}),
    ("turns", [USER, PARALLEL, RESULT, LATER, SAID, PARTS], [ADD, NOW], {}),
    ("turns", [USER, THOUGHT, USER], [], {"enable_thinking": False}),
    ("turns", [USER, CALLED, RESULT, THOUGHT], [ADD], {}),
    ("turns", [PARTS, {"role": "assistant", "content": None, "tool_calls": [call("add", "{not json")]}, RESULT], [ADD], {}),
    ("headers", [USER], [], {}),
    ("headers", [SYSTEM, USER], [ADD], {"date_string": "27 Nov 2026"}),
    ("headers", [SYSTEM, USER, CALLED, RESULT, SAID, PARTS], [ADD, NOW], {}),
    ("headers", [PARTS, SAID, USER], [], {}),
    ("brackets", [SYSTEM, USER], [], {}),
    ("brackets", [USER, PARALLEL, RESULT, LATER], [ADD, NOW], {}),
    ("brackets", [SYSTEM, USER, CALLED, RESULT, SAID, PARTS], [ADD], {}),
    ("brackets", [PARTS, SAID, USER], [], {}),
]


def trained_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[AddedToken(name, normalized=False, special=True) for name in NAMED],
        show_progress=False,
    )
    texts = [json.dumps([messages, tools], ensure_ascii=False) for _, messages, tools, _ in CONVERSATIONS]
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def main() -> None:
    backend = trained_tokenizer()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="<|im_end|>")
    renderings: list[dict[str, Any]] = []
    for template, messages, tools, settings in CONVERSATIONS:
        tokenizer.chat_template = (FOLDER / f"{template}.jinja").read_text("utf-8")
        tokens = ChatTemplate(tokenizer).render(messages, tools, settings)
        text = tokenizer.decode(tokens, skip_special_tokens=False)
        given = {"template": template, "messages": messages, "tools": tools, "settings": settings}
        renderings.append({**given, "text": text, "tokens": tokens})
    backend.save(str(FOLDER / "tokenizer.json"), pretty=False)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "<|im_end|>"}
    (FOLDER / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    (FOLDER / "renderings.json").write_text(json.dumps(renderings, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
