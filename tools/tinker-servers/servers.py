"""Real Tinker servers on the CPU, on loopback only, for tests of `packages/runtime-tinker`.

    servers.py model FOLDER              writes a tiny Qwen3 of random weights, with tokenizer and chat template
    servers.py skyrl PORT MODEL FOLDER   SkyRL with its JAX backend; FOLDER holds its database and its checkpoints
    servers.py hatchery PORT MODEL       hatchery with its real worker, in float32
"""

import asyncio
import os
import runpy
import sys
import typing
from pathlib import Path

CHAT_TEMPLATE = """{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""


def write_model(folder: str) -> None:
    """A model of 90,000 weights; its tokens are bytes, and few pairs of them."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    bytes_of_text = Tokenizer(models.BPE())
    bytes_of_text.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_of_text.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=special
    )
    bytes_of_text.train_from_iterator(["the quick brown fox jumps over the lazy dog " * 3], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_of_text, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            initializer_range=0.15,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            dtype="float32",
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def serve_skyrl(port: str, model: str, folder: str) -> None:
    """SkyRL starts its engine by `uv`; here this interpreter stands in for it."""
    # Pydantic refuses the TypedDict of Python 3.11, and SkyRL expects a newer Python.
    import typing_extensions

    typing.TypedDict = typing_extensions.TypedDict  # pyright: ignore
    uv = Path(folder, "bin", "uv")
    uv.parent.mkdir(parents=True, exist_ok=True)
    uv.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" engine "$@"\n')
    uv.chmod(0o755)
    os.environ["PATH"] = f"{uv.parent}:{os.environ['PATH']}"
    import psutil

    # It reads the command line of its parent, which must be `uv run`.
    started_by = ["uv", "run", "--", "python", "-m", "skyrl.tinker.api"]
    psutil.Process.cmdline = lambda self: started_by  # pyright: ignore
    backend = '{"max_lora_adapters": 8, "max_lora_rank": 8}'
    options = ["--base-model", model, "--backend", "jax", "--backend-config", backend]
    options += ["--database-url", f"sqlite:///{folder}/tinker.db", "--checkpoints-base", f"{folder}/checkpoints"]
    sys.argv = ["api", *options, "--host", "127.0.0.1", "--port", port]
    runpy.run_module("skyrl.tinker.api", run_name="__main__")


def run_engine(*given: str) -> None:
    """What SkyRL runs by `uv run … -m skyrl.tinker.engine …`."""
    import typing_extensions

    typing.TypedDict = typing_extensions.TypedDict  # pyright: ignore
    sys.argv = ["engine", *given[given.index("skyrl.tinker.engine") + 1 :]]
    runpy.run_module("skyrl.tinker.engine", run_name="__main__")


def serve_hatchery(port: str, model: str) -> None:
    """Its own local server listens on all interfaces, and trains with a GPU only."""
    import torch
    import uvicorn
    from hatchery.core.gateway import create_app, set_config
    from hatchery.core.local_dev import _build_config  # pyright: ignore
    from hatchery.core.worker import GPUWorker

    async def serve() -> None:
        config = _build_config("tml-test")
        set_config(config)
        app = create_app(config=config)
        await config.metadata.initialize()
        await config.queue.initialize()
        place = {"worker_id": "cpu", "base_model_name": model, "config": config}
        worker = GPUWorker(**place, device="cpu", dtype=torch.float32)
        await worker.register()

        async def work() -> None:
            while True:
                job = await config.queue.dequeue(worker_id="cpu", model_filter=model, visibility_timeout=300)
                if job is None:
                    await asyncio.sleep(0.02)
                else:
                    await worker._process_one(job)  # pyright: ignore

        working = asyncio.create_task(work())
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=int(port), lifespan="off"))
        await asyncio.wait([working, asyncio.create_task(server.serve())], return_when="FIRST_COMPLETED")

    asyncio.run(serve())


commands = {"model": write_model, "skyrl": serve_skyrl, "engine": run_engine, "hatchery": serve_hatchery}

if __name__ == "__main__":
    commands[sys.argv[1]](*sys.argv[2:])
