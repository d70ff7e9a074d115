import { once } from 'node:events';
import { get } from 'node:http';
import type { JsonObject } from '@agentlightning/core';
import type { ScriptedResponse } from '@agentlightning/core/testing';
import { describe, expect, it } from 'vitest';
import { startGateway } from './gateway-fixture.ts';

const patch = '*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch';

/** The kinds of tools of a request of Codex in its default configuration. */
const tools: readonly JsonObject[] = [
  { type: 'function', name: 'shell', strict: false, parameters: { type: 'object', properties: {} } },
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits files.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/s' },
  },
  { type: 'web_search' },
  {
    type: 'namespace',
    name: 'mcp__docs',
    description: 'Docs',
    tools: [{ type: 'function', name: 'find', parameters: { type: 'object', properties: {} } }],
  },
];

const calls: ScriptedResponse = {
  type: 'response',
  content: '',
  toolCalls: [
    { id: 'call_a', name: 'apply_patch', arguments: { input: patch } },
    { id: 'call_b', name: 'mcp__docs__find', arguments: { query: 'pears' } },
  ],
};

async function post(url: string, body: object): Promise<JsonObject> {
  const response = await fetch(`${url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.headers.get('content-type') !== 'text/event-stream') return JSON.parse(text);
  const events = text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line): JsonObject => JSON.parse(line.slice(6)));
  const deltas = events.filter(({ type }) => String(type).endsWith('input.delta')).map(({ delta }) => delta ?? null);
  const { response: last } = events.at(-1) ?? {};
  return { ...(last as JsonObject), deltas };
}

it('a WebSocket is refused with the status after which Codex calls over HTTP', async () => {
  await using fixture = await startGateway();
  const url = new URL(`${fixture.baseUrl(await fixture.attempt())}/responses`);
  const headers = { connection: 'upgrade', upgrade: 'websocket' };
  const sent = get(url, { headers });
  const [response] = await once(sent, 'response');
  expect(response.statusCode).toBe(426);
  response.resume();
});

describe('the tools of Codex', () => {
  const request = { model: 'm', instructions: 'You are a coding agent.', tools, store: false };
  const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Say hello in hello.txt.' }] }];

  it.each([false, true])(
    'are functions for the model, and their calls have their own form, streamed: %s',
    async (stream) => {
      await using fixture = await startGateway({ script: [calls] });
      const attempt = await fixture.attempt();
      const body = await post(fixture.baseUrl(attempt), { ...request, input, stream });
      const sent = fixture.model.requests[0]?.body.tools;
      expect(sent).toMatchObject([
        { function: { name: 'shell' } },
        { function: { name: 'apply_patch', parameters: { required: ['input'] } } },
        { function: { name: 'mcp__docs__find' } },
      ]);
      expect(JSON.stringify(sent)).toContain('start: /.+/s');
      expect(body.output).toMatchObject([
        { type: 'custom_tool_call', call_id: 'call_a', name: 'apply_patch', input: patch },
        {
          type: 'function_call',
          call_id: 'call_b',
          namespace: 'mcp__docs',
          name: 'find',
          arguments: '{"query":"pears"}',
        },
      ]);
      if (stream) expect(body.deltas).toEqual([patch]);
      const [span] = await fixture.spans(attempt);
      expect(span?.attributes['agentlightning.request_changes']).toEqual(['tools[2]: web_search left out']);
      expect((await fixture.calls(attempt))[0]).toMatchObject({ isTrainable: true });
    },
  );

  it('of newer versions, in an item, are those of a request', async () => {
    const exec = { name: 'functions__exec', arguments: { input: 'text(1 + 1)' } };
    await using fixture = await startGateway({
      script: [
        { type: 'response', content: '', toolCalls: [{ id: 'call_a', ...exec }] },
        { type: 'response', content: '2' },
      ],
    });
    const attempt = await fixture.attempt();
    const custom = { type: 'custom', name: 'exec', description: 'Runs JavaScript.', format: { type: 'text' } };
    const added = {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'namespace', name: 'functions', tools: [custom] }, ...tools],
    };
    const newRequest = { model: 'm', store: false };
    const { output } = await post(fixture.baseUrl(attempt), { ...newRequest, input: [added, ...input], stream: true });
    expect(output).toMatchObject([
      { type: 'custom_tool_call', namespace: 'functions', name: 'exec', input: 'text(1 + 1)' },
    ]);
    const result = { type: 'custom_tool_call_output', call_id: 'call_a', output: [{ type: 'input_text', text: '2' }] };
    await post(fixture.baseUrl(attempt), {
      ...newRequest,
      input: [added, ...input, ...(output as JsonObject[]), added, result],
    });
    const [first, second] = fixture.model.requests;
    expect(first?.body.tools).toMatchObject([
      { function: { name: 'functions__exec', parameters: { required: ['input'] } } },
      { function: { name: 'shell' } },
      { function: { name: 'apply_patch' } },
      { function: { name: 'mcp__docs__find' } },
    ]);
    expect(second?.body.tools).toEqual(first?.body.tools);
    expect(second?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ function: { name: exec.name, arguments: JSON.stringify(exec.arguments) } }] },
      { role: 'tool', tool_call_id: 'call_a' },
    ]);
    expect((await fixture.calls(attempt)).map(({ isTrainable }) => isTrainable)).toEqual([true, true]);
  });

  it('are the same turn again when their calls and results are sent back', async () => {
    await using fixture = await startGateway({ script: [calls, { type: 'response', content: 'Done.' }] });
    const attempt = await fixture.attempt();
    const { output } = await post(fixture.baseUrl(attempt), { ...request, input });
    const results = [
      { type: 'custom_tool_call_output', call_id: 'call_a', output: 'ok' },
      { type: 'function_call_output', call_id: 'call_b', output: 'none' },
    ];
    const searched = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'pear' },
    };
    await post(fixture.baseUrl(attempt), {
      ...request,
      input: [...input, ...(output as JsonObject[]), ...results, searched],
    });
    expect(fixture.model.requests[1]?.messages.slice(2)).toMatchObject([
      {
        role: 'assistant',
        tool_calls: [
          { function: { name: 'apply_patch', arguments: JSON.stringify({ input: patch }) } },
          { function: { name: 'mcp__docs__find', arguments: '{"query":"pears"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_a', content: 'ok' },
      { role: 'tool', tool_call_id: 'call_b', content: 'none' },
      { role: 'assistant', content: expect.stringContaining('pear') },
    ]);
  });
});
