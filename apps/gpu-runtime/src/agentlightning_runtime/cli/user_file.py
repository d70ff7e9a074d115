"""The file with the users of a runtime."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentlightning_runtime.cli.usage_error import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LINE = re.compile(r"([A-Za-z0-9_-]{1,32})\s+(\S{16,})")


def read_users(file: Path) -> Mapping[str, str]:
    """The keys by user: each line has a name and a key of at least 16 characters; empty lines and `#` are skipped.

    Raises:
        UsageError: When the file cannot be read, a line is invalid, or a name or key is there twice.
    """
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {file}: {error}", "Pass a file that this user can read") from error
    users: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            remedy = "Write a name of A-Z a-z 0-9 _ - and a key of at least 16 characters: alice 3f9c..."
            raise UsageError(f"Line {number} of {file} is not a user", remedy)
        name, key = match.groups()
        if name in users or key in users.values():
            raise UsageError(f"Line {number} of {file} repeats a name or a key", "Give each user a separate key")
        users[name] = key
    if not users:
        raise UsageError(f"{file} has no users", "Write a line for each: a name and a key")
    return users
