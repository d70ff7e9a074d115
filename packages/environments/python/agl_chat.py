"""A harness of verifiers that plays a chat in the process of the bridge, with the tools of the taskset.

The harness `null` of the library does the same in a program for each rollout, which it installs by uv.
"""

import json
from contextlib import AsyncExitStack

import verifiers.v1 as vf
from openai import APIStatusError, AsyncOpenAI
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.harnesses.utils.mcp import call_mcp, connect_mcp
from verifiers.v1.runtimes import ProgramResult


class ChatHarness(vf.Harness[vf.HarnessConfig]):
    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_MCP = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages.extend(message_to_wire(message) for message in prompt or [])
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0))
            servers = {name: {"url": url} for name, url in mcp_urls.items()}
            tools = await connect_mcp({"mcpServers": servers}, stack)
            try:
                await _converse(client, ctx.model, messages, tools)
            except APIStatusError:
                # A limit or a condition of the taskset ends a rollout by refusing its next model call.
                if trace.stop_condition is None:
                    raise
        return ProgramResult(exit_code=0, stdout="", stderr="")


async def _converse(client, model, messages, tools):
    """Calls the model and its tools until it writes a message without a call."""
    schemas, dispatch, servers = tools
    given = {"tools": schemas} if schemas else {}
    while True:
        completion = await client.chat.completions.create(model=model, messages=messages, **given)
        message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            content = await _call(call.function, dispatch, servers)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


async def _call(function, dispatch, servers):
    """The result of a call. Mistakes of the model are results too."""
    if function.name not in dispatch:
        return f"There is no tool {function.name}."
    try:
        arguments = json.loads(function.arguments or "{}")
    except json.JSONDecodeError as error:
        return f"The arguments are not valid JSON: {error}"
    if not isinstance(arguments, dict):
        return "The arguments must be an object."
    return await call_mcp(servers, dispatch, function.name, arguments)


__all__ = ["ChatHarness"]
