"""Writes a small Llama as a GGUF file, in the layout of llama.cpp's converter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from agentlightning_runtime.engine.loading.loaded_model import LoadedModel

_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(loaded: LoadedModel, path: Path) -> None:
    """Weights in float32, and the tokenizer with a chat template."""
    config = loaded.causal_lm.config
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    _add_tokenizer(writer, loaded)
    for name, weight in loaded.causal_lm.named_parameters():
        values: NDArray[np.float32] = weight.detach().numpy()
        if "q_proj" in name or "k_proj" in name:
            heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
            # llama.cpp pairs neighbours in rotary positions where Transformers pairs halves.
            values = values.reshape(heads, 2, -1, values.shape[1]).swapaxes(1, 2).reshape(values.shape)
        writer.add_tensor(_name(name), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: gguf.GGUFWriter, loaded: LoadedModel) -> None:
    tokenizer = loaded.tokenizer
    assert tokenizer is not None
    # Transformers needs a merge, and its result must be a token: one id is left.
    tokens = [str(tokenizer.convert_ids_to_tokens(token)) for token in range(len(tokenizer))] + ["th"]
    assert len(tokens) == loaded.causal_lm.config.vocab_size
    kinds = [gguf.TokenType.CONTROL if token.startswith("<|") else gguf.TokenType.NORMAL for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(loaded.causal_lm.config.eos_token_id)
    writer.add_chat_template(str(tokenizer.chat_template))


def _name(name: str) -> str:
    plain = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    if name in plain:
        return plain[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{_NAMES[rest.removesuffix('.weight')]}.weight"
