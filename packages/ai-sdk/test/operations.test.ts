import { withAgent } from '@agentlightning/core';
import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenAICompatible as createOpenAICompatible6 } from '@ai-sdk/openai-compatible-v2';
import * as ai7 from 'ai';
import * as ai6 from 'ai-v6';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { instrumentAISDK, traceModel } from '../src/index.ts';
import { operations } from '../src/recorded-operations.ts';
import { aGate, ofKind, outputText, traced } from './traced.ts';

let undo: () => void = () => {};

beforeEach(() => {
  undo = instrumentAISDK({ agentName: ({ functionId, instructions }) => functionId ?? instructions });
});

afterEach(() => {
  undo();
  // No operation may remain after a test.
  expect([operations.open.size, operations.steps.openCount]).toEqual([0, 0]);
});

const elsewhere = { name: 'none', baseURL: 'http://127.0.0.1:1/v1', includeUsage: true };
const tiny = createOpenAICompatible(elsewhere)('tiny');

const versions = [
  // The tests use the common subset of both versions; only their types differ.
  { version: 7, ai: ai7, create: createOpenAICompatible },
  {
    version: 6,
    ai: ai6 as unknown as typeof ai7,
    create: createOpenAICompatible6 as unknown as typeof createOpenAICompatible,
  },
];

describe.for(versions)('agents of version $version', ({ ai, create }) => {
  const model = create(elsewhere)('tiny');

  test('concurrent agents in tools are children of the right tool call', async () => {
    await using server = await ScriptedModel.start(({ messages }) => {
      const last = String(messages.at(-1)?.content);
      if (last === 'both') {
        const toolCalls = ['a', 'b'].map((name) => ({ name: 'ask', arguments: { name } }));
        return { type: 'response', toolCalls };
      }
      return respondWith(messages.at(-1)?.role === 'tool' ? 'done' : `I am ${last}`);
    });
    const ask = ai.tool({
      inputSchema: z.object({ name: z.string() }),
      execute: async ({ name }) => {
        const inner = new ai.ToolLoopAgent({ model, instructions: name });
        return (await inner.generate({ prompt: name })).text;
      },
    });
    const { execute } = ask;
    const outer = new ai.ToolLoopAgent({ model, instructions: 'outer', tools: { ask } });
    const { tree, spans } = await traced(server, () => outer.generate({ prompt: 'both' }));
    expect(tree).toContain('    execute_tool ask\n      invoke_agent a\n        step 1\n          chat tiny\n');
    expect(tree).toContain('    execute_tool ask\n      invoke_agent b\n        step 1\n          chat tiny\n');
    expect(ofKind(spans, 'model-call').map(({ attributes }) => attributes['agentlightning.agent.path'])).toEqual(
      expect.arrayContaining(['outer', 'outer>a', 'outer>b', 'outer']),
    );
    const placed = server.requests.map(({ headers }) => headers['x-agl-parent-span-id']);
    expect(new Set(placed)).toEqual(new Set(ofKind(spans, 'model-call').map(({ spanId }) => spanId)));
    expect(ask.execute, 'the tool is restored').toBe(execute);
  });

  test('a tool that yields runs in the context of its call', async () => {
    await using server = await ScriptedModel.start([callTool('slow', {}), respondWith('inner'), respondWith('done')]);
    const slow = ai.tool({
      inputSchema: z.object({}),
      async *execute() {
        yield 'thinking';
        yield (await ai.generateText({ model, system: 'inner', prompt: '?' })).text;
      },
    });
    const run = async (): Promise<string> => {
      const result = ai.streamText({ model, prompt: 'hi', tools: { slow }, stopWhen: ai.stepCountIs(2) });
      await result.consumeStream();
      return result.text;
    };
    const { result, tree, spans } = await traced(server, run);
    expect(result).toBe('done');
    expect(tree).toContain('execute_tool slow\n      ');
    const [call] = ofKind(spans, 'tool-call');
    expect(call?.attributes['gen_ai.tool.call.result']).toBe('inner');
    expect(spans.filter(({ parentId }) => parentId === call?.spanId)).toHaveLength(1);
  });

  test('an unnamed call belongs to the enclosing agent', async () => {
    await using server = await ScriptedModel.start([respondWith('hi')]);
    const { spans } = await traced(server, () => withAgent('writer', () => ai.generateText({ model, prompt: 'hi' })));
    const [call] = ofKind(spans, 'model-call');
    expect(call?.attributes['agent.name']).toBe('writer');
    expect(server.requests[0]?.headers['x-agl-agent-name']).toBe('writer');
  });

  test('a tool that requires approval is called in the run that has the approval', async () => {
    await using server = await ScriptedModel.start([callTool('pay', { sum: 5 }), respondWith('paid')]);
    const pay = ai.tool({
      inputSchema: z.object({ sum: z.number() }),
      needsApproval: true,
      execute: ({ sum }) => `paid ${sum}`,
    });
    const { tree, spans } = await traced(server, async () => {
      const agent = new ai.ToolLoopAgent({ model, instructions: 'clerk', tools: { pay } });
      const first = await agent.generate({ prompt: 'pay 5' });
      const request = first.content.find((part) => part.type === 'tool-approval-request');
      const approval = {
        type: 'tool-approval-response' as const,
        approvalId: request?.type === 'tool-approval-request' ? request.approvalId : '',
        approved: true,
      };
      await agent.generate({
        messages: [
          { role: 'user', content: 'pay 5' },
          ...first.response.messages,
          { role: 'tool', content: [approval] },
        ],
      });
    });
    expect(tree).toBe(
      'invoke_agent clerk\n  step 1\n    chat tiny\ninvoke_agent clerk\n  execute_tool pay\n  step 1\n    chat tiny\n',
    );
    expect(ofKind(spans, 'tool-call')[0]?.attributes['gen_ai.tool.call.result']).toBe('paid 5');
  });

  test('a wrapped model distinguishes concurrent calls in one context', async () => {
    const paused = aGate();
    await using server = await ScriptedModel.start(({ messages, index }) => {
      if (index === 1) paused.open();
      return respondWith(`to ${String(messages.at(-1)?.content)}`, { until: paused.opened });
    });
    const wrapped = traceModel(model);
    const { spans } = await traced(server, () =>
      Promise.all(['a', 'b'].map((prompt) => ai.generateText({ model: wrapped, system: prompt, prompt }))),
    );
    const calls = ofKind(spans, 'model-call');
    expect(calls.map((call) => [call.attributes['agent.name'], outputText(call)])).toEqual([
      ['a', 'to a'],
      ['b', 'to b'],
    ]);
    for (const [index, { headers, messages }] of server.requests.entries()) {
      const call = calls.find(({ spanId }) => spanId === headers['x-agl-parent-span-id']);
      expect(call?.attributes['agent.name'], `request ${index}`).toBe(messages.at(-1)?.content);
    }
  });

  test('generateObject is a model call of its agent', async () => {
    await using server = await ScriptedModel.start([respondWith('{"city":"Paris"}')]);
    const wrapped = traceModel(model);
    const { result, spans } = await traced(server, () =>
      ai.generateObject({ model: wrapped, system: 'poet', prompt: 'Where?', schema: z.object({ city: z.string() }) }),
    );
    expect(result.object).toEqual({ city: 'Paris' });
    const calls = ofKind(spans, 'model-call');
    expect(calls.map(outputText)).toEqual(['{"city":"Paris"}']);
    expect(server.requests[0]?.headers['x-agl-parent-span-id']).toBe(calls[0]?.spanId);
  });

  test('a non-retryable error ends the call of a wrapped model, and its agent', async () => {
    await using server = await ScriptedModel.start([{ type: 'failure', status: 401, message: 'who are you' }]);
    const wrapped = traceModel(model);
    const { spans } = await traced(server, () =>
      ai.generateText({ model: wrapped, system: 'poet', prompt: 'hi' }).catch(() => null),
    );
    expect(spans.map(({ status }) => status.code)).toEqual(['ERROR', 'ERROR', 'ERROR']);
    expect(spans.map(({ status }) => status.message).join()).not.toContain('The attempt ended');
  });

  test('a call has the number of its retries, without the final failure', async () => {
    const failure = { type: 'failure', message: 'busy', headers: { 'retry-after-ms': '1' } } as const;
    await using server = await ScriptedModel.start([
      { ...failure, status: 500 },
      { ...failure, status: 429 },
      respondWith('hi'),
      { ...failure, status: 400 },
    ]);
    const { spans } = await traced(server, async () => {
      await ai.generateText({ model: traceModel(model), prompt: 'one' });
      await ai.generateText({ model: traceModel(model), prompt: 'two' }).catch(() => null);
    });
    const counts = ofKind(spans, 'model-call').map(({ attributes }) => attributes['http.request.resend_count']);
    expect(counts).toEqual([2, undefined]);
  });

  test('outside a rollout no operation is stored', async () => {
    await using server = await ScriptedModel.start([respondWith('hi')]);
    await ai.generateText({ model: create({ ...elsewhere, baseURL: server.baseUrl })('tiny'), prompt: 'hi' });
    expect([operations.open.size, operations.steps.openCount]).toEqual([0, 0]);
  });
});

describe('operations of version 7 alone', () => {
  test('concurrent generateObject calls are distinguished without a wrapped model', async () => {
    await using server = await ScriptedModel.start(() => respondWith('{"a":1}'));
    const schema = z.object({ a: z.number() });
    const { spans } = await traced(server, () =>
      Promise.all(
        ['x', 'y'].map((name) => withAgent(name, () => ai7.generateObject({ model: tiny, prompt: name, schema }))),
      ),
    );
    const calls = ofKind(spans, 'model-call');
    expect(new Set(server.requests.map(({ headers }) => headers['x-agl-parent-span-id']))).toEqual(
      new Set(calls.map(({ spanId }) => spanId)),
    );
  });

  test('every request of embedMany is a separate step and is not redirected', async () => {
    await using own = await ScriptedModel.start(() => respondWith('no'));
    const local = createOpenAICompatible({ ...elsewhere, baseURL: own.baseUrl, headers: {} });
    const { spans, result } = await traced(own, () =>
      ai7.embedMany({ model: local.embeddingModel('small'), values: ['a', 'b'] }).then(({ embeddings }) => embeddings),
    );
    expect(result).toHaveLength(2);
    expect(spans.map(({ name }) => name)).toEqual(['embedMany', 'embeddings small']);
    expect(own.requests.every(({ headers }) => headers['x-agl-trace-id'] === undefined)).toBe(true);
  });

  test('a failed embedding is an error', async () => {
    const { spans } = await traced(null, () =>
      ai7
        .embed({ model: createOpenAICompatible(elsewhere).embeddingModel('small'), value: 'a', maxRetries: 0 })
        .catch(() => null),
    );
    expect(spans.map(({ name, status }) => [name, status.code])).toEqual([
      ['embed', 'ERROR'],
      ['embeddings small', 'ERROR'],
    ]);
  });

  test('a stream ended by return is not a failure', async () => {
    const held = aGate();
    await using server = await ScriptedModel.start([
      respondWith('one two three', { until: held.opened, pauseAfterChunks: 3 }),
    ]);
    const { spans } = await traced(server, async () => {
      const result = ai7.streamText({ model: traceModel(tiny), prompt: 'hi', system: 'poet' });
      for await (const text of result.textStream) if (text !== '') break;
    });
    held.open();
    expect(outputText(ofKind(spans, 'model-call')[0])).toContain('one');
    expect(ofKind(spans, 'model-call')[0]?.attributes['agentlightning.partial']).toBe(true);
    const words = JSON.stringify(ofKind(spans, 'model-call')[0]?.attributes);
    expect(words, 'the finish reason was not reported').not.toContain('undefined');
  });
});

test.for([
  ['no reason', undefined],
  ['an error as the reason', new TypeError('enough')],
  ['a string as the reason', 'enough'],
] as const)('an agent of version 7 aborted with %s is not failed', async ([, reason]) => {
  await using server = await ScriptedModel.start([respondWith('never', { until: new Promise(() => {}) })]);
  const controller = new AbortController();
  const { spans } = await traced(server, async () => {
    const abortSignal = controller.signal;
    const running = ai7.generateText({ model: tiny, instructions: 'poet', prompt: 'hi', abortSignal, maxRetries: 0 });
    const settled = Promise.resolve(running).catch(() => null);
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(reason);
    await settled;
  });
  expect(spans.map(({ name, status }) => [name, status.code])).toEqual([
    ['invoke_agent poet', 'UNSET'],
    ['step 1', 'UNSET'],
    ['chat tiny', 'UNSET'],
  ]);
});
