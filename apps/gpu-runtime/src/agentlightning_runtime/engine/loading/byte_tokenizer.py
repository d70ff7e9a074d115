"""A tokenizer without training: one token for each UTF-8 byte, and named tokens that open and end turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

if TYPE_CHECKING:
    from collections.abc import Sequence

#: ChatML, the conversation layout of most small instruct models.
CHATML_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

#: The named tokens that `CHATML_TEMPLATE` needs.
CHATML_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def byte_tokenizer(named_tokens: Sequence[str], *, end: str, chat_template: str) -> PreTrainedTokenizerFast:
    """A tokenizer whose ids 0 to 255 are the bytes, followed by the named tokens in order.

    Args:
        named_tokens: Each occurrence in a text is one token.
        end: The named token that ends a turn.
        chat_template: Jinja template in the format of Transformers.
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
    """The printable character for each byte, as in GPT-2's byte-level vocabulary (Radford et al. 2019)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    stand_ins = {byte: chr(byte) for byte in printable} | {byte: chr(256 + at) for at, byte in enumerate(hidden)}
    return [stand_ins[byte] for byte in range(256)]
