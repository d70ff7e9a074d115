"""The JSON object of a request's or response's body."""

from __future__ import annotations

import json
from typing import Any

from agentlightning_runtime.inference.http.api_error import rejected


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        ApiError: when it is something else.
    """
    try:
        value: object = json.loads(body)
    except ValueError as error:
        raise rejected(f"The request body is not JSON: {error}", "Send one JSON object.") from error
    if not isinstance(value, dict):
        raise rejected("The request body is not a JSON object", "Send one JSON object.")
    fields: dict[str, Any] = dict(value)
    return fields
