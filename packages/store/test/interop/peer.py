"""The other side of the interop tests: the client and the server of the Python package Agent Lightning 0.3.

`peer.py client URL` executes requests, one JSON line each way: {"method": ..., "args": ...} in, {"ok": ...} or
{"error": ...} out. `peer.py server` serves its in-memory store, says where in a first line, and ends with its input.
"""

import asyncio
import importlib.util
import inspect
import json
import logging
import sys
import types

# The package's own entrance imports every framework it knows; the store needs none of them.
spec = importlib.util.find_spec("agentlightning")
assert spec is not None and spec.submodule_search_locations is not None
package = types.ModuleType("agentlightning")
package.__path__ = list(spec.submodule_search_locations)
sys.modules["agentlightning"] = package

from opentelemetry import trace as trace_api  # noqa: E402
from opentelemetry.sdk.resources import Resource  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from pydantic import BaseModel, TypeAdapter  # noqa: E402

from agentlightning.store import InMemoryLightningStore, LightningStoreClient, LightningStoreServer  # noqa: E402
from agentlightning.types import (  # noqa: E402
    EnqueueRolloutRequest,
    NamedResources,
    RolloutConfig,
    Span,
)
from agentlightning.utils.otlp import LightningStoreOTLPExporter  # noqa: E402

# Responses go to the real standard output; whatever else prints must not get in between.
responses = sys.stdout
sys.stdout = sys.stderr
logging.disable(logging.CRITICAL)


def plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def page(result):
    return {
        "items": plain(list(result.items)),
        "types": [type(item).__name__ for item in result.items],
        "limit": result.limit,
        "offset": result.offset,
        "total": result.total,
    }


def typed(args):
    """The arguments as the package's own types, where a method asks for them."""
    known = {
        "config": lambda value: RolloutConfig(**value),
        "resources": TypeAdapter(NamedResources).validate_python,
        "rollouts": lambda value: [EnqueueRolloutRequest(**item) for item in value],
        "span": Span.model_validate,
        "spans": lambda value: [Span.model_validate(item) for item in value],
        "rollout_attempt_ids": lambda value: [tuple(item) for item in value],
    }
    return {name: known[name](value) if name in known and value is not None else value for name, value in args.items()}


def recorded_spans(exporter=None):
    """Two real spans of OpenTelemetry's SDK, a parent and its child, in the order in which they ended."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"team": "python"}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    if exporter is not None:
        provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("interop", "1.0")
    with tracer.start_as_current_span("root", kind=trace_api.SpanKind.SERVER) as root:
        with tracer.start_as_current_span("child", links=[trace_api.Link(root.get_span_context(), {"why": "x"})]) as child:
            child.set_attributes({"text": "ä", "count": 3, "ratio": 0.5, "on": True, "ids": [1, 2], "logprobs": [-0.5, 0.0]})
            child.add_event("moment", {"n": 1})
            child.set_status(trace_api.StatusCode.ERROR, "broke")
    provider.shutdown()
    return kept.get_finished_spans()


async def export_by_otlp(client, rollout_id, attempt_id):
    exporter = LightningStoreOTLPExporter()
    exporter.enable_store_otlp(client.otlp_traces_endpoint(), rollout_id, attempt_id)
    spans = await asyncio.to_thread(recorded_spans, exporter)
    return [{"name": span.name, "span_id": trace_api.format_span_id(span.context.span_id)} for span in spans]


async def add_otel_spans(client, rollout_id, attempt_id):
    results = []
    for span in recorded_spans():
        added = await client.add_otel_span(rollout_id, attempt_id, span)
        sent = Span.from_opentelemetry(span, rollout_id, attempt_id, added.sequence_id)
        results.append({"sent": plain(sent), "added": plain(added)})
    return results


def public_methods():
    members = inspect.getmembers(LightningStoreClient, inspect.iscoroutinefunction)
    return sorted(name for name, _ in members if not name.startswith("_"))


async def run_client(url):
    client = LightningStoreClient(url, retry_delays=(0.05, 0.1), health_retry_delays=(0.02, 0.05))
    extras = {
        "public_methods": lambda: public_methods(),
        "export_by_otlp": lambda **args: export_by_otlp(client, **args),
        "add_otel_spans": lambda **args: add_otel_spans(client, **args),
    }
    lines = asyncio.StreamReader(limit=2**26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        request = json.loads(line)
        try:
            method = extras.get(request["method"]) or getattr(client, request["method"])
            result = method(**typed(request["args"]))
            if inspect.isawaitable(result):
                result = await result
            response = {"ok": page(result) if hasattr(result, "total") and hasattr(result, "items") else plain(result)}
        except Exception as error:  # The test looks at it.
            response = {"error": {"type": type(error).__name__, "status": getattr(error, "status", None), "text": str(error)}}
        print(json.dumps(response), file=responses, flush=True)
    await client.close()


async def run_server():
    from portpicker import pick_unused_port

    server = LightningStoreServer(InMemoryLightningStore(), host="127.0.0.1", port=pick_unused_port())
    await server.start()
    print(json.dumps({"url": server.endpoint}), file=responses, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop()


if __name__ == "__main__":
    asyncio.run(run_client(sys.argv[2]) if sys.argv[1] == "client" else run_server())
