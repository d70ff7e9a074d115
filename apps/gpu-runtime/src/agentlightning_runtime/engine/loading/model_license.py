"""The licence of a base model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

from huggingface_hub.repocard import metadata_load
from transformers.utils.hub import cached_file

#: Names of licences: SPDX ids, and those of publishers, such as `llama3.2`.
LICENSE_NAME = re.compile(r"[\w.+-]{1,100}")


def model_license(source: str) -> str:
    """The licence in the card of a model; never guessed from its name.

    Args:
        source: A Hugging Face id, a folder, or a file in a folder.

    Returns:
        The name in the card, such as `apache-2.0`; empty without a card, or when it cannot be read.
    """
    try:
        card = cached_file(
            str(Path(source).parent) if Path(source).is_file() else source,
            "README.md",
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
            _raise_exceptions_for_gated_repo=False,
        )
        fields = {} if card is None else cast("dict[str, object]", metadata_load(card) or {})
    # Cards are text of people: also invalid YAML, whose errors are those of another package.
    except Exception:  # noqa: BLE001
        return ""
    # Publishers with a separate licence name it in a second field.
    name = fields.get("license_name" if fields.get("license") == "other" else "license")
    return name if isinstance(name, str) and LICENSE_NAME.fullmatch(name) else ""
