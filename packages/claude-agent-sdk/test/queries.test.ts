import { currentRollout, type Span, tracer, withRollout } from '@agentlightning/core';
import { AttemptSpans } from '@agentlightning/core/spans';
import { aRolloutContext, callTool, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { createSdkMcpServer, type Options, query, type SDKMessage, tool } from '@anthropic-ai/claude-agent-sdk';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { traceQuery } from '../src/index.ts';
import { sceneEnvironment } from './scene-agent.ts';

const add = tool('add', 'Adds two numbers.', { a: z.number(), b: z.number() }, async ({ a, b }) => {
  tracer.withSpan('look up', () => {});
  return { content: [{ type: 'text', text: String(a + b) }] };
});

/** The options of a query against a model that must not be called. */
function queryOptions(own: ScriptedModel): Options {
  return {
    model: 'tiny',
    systemPrompt: 'Be brief.',
    tools: ['Agent'],
    agents: { expert: { description: 'Can add.', prompt: 'You can add.', model: 'inherit', background: false } },
    mcpServers: { sums: createSdkMcpServer({ name: 'sums', alwaysLoad: true, tools: [add] }) },
    allowedTools: ['Agent', 'mcp__sums__add'],
    settingSources: [],
    persistSession: false,
    env: sceneEnvironment({ baseUrl: own.baseUrl, apiKey: 'key-of-the-agent', maxRetries: 0 }),
  };
}

/** The messages and spans of a query in a rollout. */
interface RecordedQuery {
  readonly messages: readonly SDKMessage[];
  readonly error: unknown;
  readonly spans: readonly Span[];
  readonly tree: string;
}

async function recorded(model: ScriptedModel, run: () => AsyncIterable<SDKMessage>): Promise<RecordedQuery> {
  const memory = new MemorySpanSink();
  const sink = new AttemptSpans(memory);
  const endpoint = { baseUrl: model.baseUrl.replace('/v1', '/rollout/r/attempt/a/v1'), model: 'policy', apiKey: 'key' };
  const messages: SDKMessage[] = [];
  const error: unknown = await withRollout(aRolloutContext({ sink, endpoint }), async () => {
    for await (const message of run()) messages.push(message);
    return null;
  }).catch((reason: unknown) => reason);
  sink.close();
  return { messages, error, spans: memory.spans, tree: treeOf(memory.spans) };
}

function treeOf(spans: readonly Span[], parentId: string | null = null, indent = ''): string {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans
    .filter((span) => (parentId === null ? !ids.has(span.parentId ?? '') : span.parentId === parentId))
    .toSorted((left, right) => (left.startTimeMs ?? 0) - (right.startTimeMs ?? 0))
    .map((span) => `${indent}${span.name}\n${treeOf(spans, span.spanId, `${indent}  `)}`)
    .join('');
}

test('a query with a subagent and a tool of this process is one tree, and returns the messages that it would return', async () => {
  await using own = await ScriptedModel.start([]);
  await using model = await ScriptedModel.start([
    callTool('Agent', { description: 'a sum', prompt: 'What is 2 + 3?', subagent_type: 'expert' }),
    callTool('mcp__sums__add', { a: 2, b: 3 }),
    respondWith('It is 5.'),
    respondWith('The expert says 5.'),
  ]);
  const options = queryOptions(own);
  const { messages, spans, tree } = await recorded(model, () => traceQuery(query)({ prompt: 'How much?', options }));
  expect(tree).toBe(`invoke_agent claude
  chat tiny
  execute_tool Agent
    invoke_agent expert
      chat tiny
      execute_tool mcp__sums__add
        look up
      chat tiny
  chat tiny
`);
  const calls = spans.filter(({ attributes }) => attributes['agentlightning.step.kind'] === 'model-call');
  expect(calls.map(({ attributes }) => attributes['gen_ai.response.id']).toSorted()).toEqual([
    'msg_0',
    'msg_1',
    'msg_2',
    'msg_3',
  ]);
  expect(spans.filter(({ status }) => status.code === 'ERROR')).toEqual([]);
  expect(messages.at(-1)).toMatchObject({ type: 'result', result: 'The expert says 5.' });
  // Only the recorder requires stream events and the texts of subagents.
  expect(messages.map(({ type }) => type)).not.toContain('stream_event');
  expect(JSON.stringify(messages.filter(({ type }) => type === 'assistant'))).not.toContain('It is 5.');
});

test('prompts and images of a streaming input are recorded, and concurrent queries go to their own rollout', async () => {
  await using own = await ScriptedModel.start([]);
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: pixel };
  const prompts = async function* (): AsyncGenerator<{
    type: 'user';
    parent_tool_use_id: null;
    message: { role: 'user'; content: ({ type: 'text'; text: string } | { type: 'image'; source: typeof source })[] };
  }> {
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image' as const, source },
    ];
    yield { type: 'user', parent_tool_use_id: null, message: { role: 'user', content } };
  };
  const results = await Promise.all(
    ['A pixel.', 'A dot.'].map(async (answer) => {
      await using model = await ScriptedModel.start([respondWith(answer)]);
      const options = queryOptions(own);
      const { messages, spans } = await recorded(model, () => traceQuery(query)({ prompt: prompts(), options }));
      expect(model.requests.map(({ path }) => path)).toEqual(['/rollout/r/attempt/a/v1/messages?beta=true']);
      expect(JSON.stringify(model.requests)).not.toContain('key-of-the-agent');
      const call = spans.find(({ name }) => name === 'chat tiny');
      return { message: messages.at(-1), output: String(call?.attributes['gen_ai.output.messages']), call };
    }),
  );
  expect(results[0]?.output).toContain('A pixel.');
  expect(results[1]?.output).toContain('A dot.');
  expect(JSON.parse(String(results[0]?.call?.attributes['gen_ai.input.messages']))).toEqual([
    { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
    {
      role: 'user',
      parts: [
        { type: 'text', content: 'What is this?' },
        { type: 'blob', modality: 'image', mime_type: 'image/png' },
      ],
    },
  ]);
  expect(currentRollout()).toBeNull();
});

test('a failed model call is an error of the call and of the agent', async () => {
  await using own = await ScriptedModel.start([]);
  await using model = await ScriptedModel.start(() => ({ type: 'failure', status: 400, message: 'no such model' }));
  const options = queryOptions(own);
  const agent = traceQuery(query, { agentName: 'clerk' });
  const { spans, error } = await recorded(model, () => agent({ prompt: 'Hi', options }));
  expect(String(error)).toContain('no such model');
  const failed = spans.filter(({ status }) => status.code === 'ERROR');
  expect(failed.map(({ name }) => name).toSorted()).toEqual(['chat tiny', 'invoke_agent clerk']);
});

/** An image of one pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
