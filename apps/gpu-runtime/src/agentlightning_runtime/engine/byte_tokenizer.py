"""A tokenizer without training: one token for each byte of UTF-8, and named tokens that open and end turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

if TYPE_CHECKING:
    from collections.abc import Sequence

#: How ChatML, the layout of most small instruct models, writes a conversation.
CHATML_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

#: What `CHATML_TEMPLATE` needs beside bytes.
CHATML_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def byte_tokenizer(named_tokens: Sequence[str], *, end: str, chat_template: str) -> PreTrainedTokenizerFast:
    """A tokenizer whose ids 0 to 255 are the bytes, and whose next ids are the named tokens, in their order.

    Args:
        named_tokens: Written in a text, each is one token.
        end: The named token that ends a turn.
        chat_template: In Jinja, as Transformers has it.
    """
    vocabulary = {character: byte for byte, character in enumerate(_characters_of_bytes())}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in named_tokens])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=end, pad_token=end, chat_template=chat_template
    )


def _characters_of_bytes() -> list[str]:
    """The printable stand-in of each byte, as GPT-2's byte-level vocabulary has it (Radford et al. 2019)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    stand_ins = {byte: chr(byte) for byte in printable} | {byte: chr(256 + at) for at, byte in enumerate(hidden)}
    return [stand_ins[byte] for byte in range(256)]
