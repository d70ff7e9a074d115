import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenAICompatible as createOpenAICompatible6 } from '@ai-sdk/openai-compatible-v2';
import { generateText, registerTelemetry, stepCountIs, streamText, type Telemetry, tool, wrapLanguageModel } from 'ai';
import * as ai6 from 'ai-v6';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { instrumentAISDK } from '../src/index.ts';
import { ofKind, outputText, traced } from './traced.ts';

let undo: () => void = () => {};

afterEach(() => {
  undo();
  Reflect.deleteProperty(globalThis, 'AI_SDK_TELEMETRY_INTEGRATIONS');
});

const other = createOpenAICompatible({ name: 'none', baseURL: 'http://127.0.0.1:1/v1', includeUsage: true });

function counting(counts: Record<string, number>): Telemetry {
  const count = (name: string) => (): void => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  return {
    onStart: count('start'),
    onLanguageModelCallEnd: count('model call'),
    onToolExecutionEnd: count('tool'),
    onEnd: count('end'),
    executeLanguageModelCall: ({ execute }) => {
      count('wrapper')();
      return execute();
    },
  };
}

describe('user-defined telemetry integrations', () => {
  test('receive the same events, registered before or after', async () => {
    await using model = await ScriptedModel.start([respondWith('hi')]);
    const before = {};
    const after = {};
    registerTelemetry(counting(before));
    undo = instrumentAISDK();
    registerTelemetry(counting(after));
    const { spans } = await traced(model, () => generateText({ model: other('tiny'), prompt: 'hi' }));
    const once = { start: 1, 'model call': 1, end: 1, wrapper: 1 };
    expect([before, after]).toEqual([once, once]);
    expect(ofKind(spans, 'model-call')).toHaveLength(1);
    undo();
    expect(Reflect.get(globalThis, 'AI_SDK_TELEMETRY_INTEGRATIONS')).toHaveLength(2);
  });

  test('of a single call do not prevent recording: it uses the diagnostics channel', async () => {
    await using model = await ScriptedModel.start([callTool('ask', {}), respondWith('deep'), respondWith('done')]);
    undo = instrumentAISDK();
    const counts = {};
    const telemetry = { functionId: 'outer', integrations: counting(counts) };
    const ask = tool({
      inputSchema: z.object({}),
      execute: async () => {
        const { text } = await generateText({ model: other('tiny'), prompt: '?', telemetry: { functionId: 'inner' } });
        return text;
      },
    });
    const { result, tree, spans } = await traced(model, () =>
      generateText({ model: other('tiny'), prompt: 'hi', tools: { ask }, stopWhen: stepCountIs(3), telemetry }),
    );
    expect(result.text).toBe('done');
    expect(counts).toEqual({ start: 1, 'model call': 2, tool: 1, end: 1, wrapper: 2 });
    expect(tree).toBe(
      [
        'invoke_agent outer',
        '  step 1',
        '    chat tiny',
        '    execute_tool ask',
        '      invoke_agent inner',
        '        step 1',
        '          chat tiny',
        '  step 2',
        '    chat tiny',
        '',
      ].join('\n'),
    );
    expect(outputText(ofKind(spans, 'model-call').at(-1))).toBe('done');
    const calls = ofKind(spans, 'model-call').map(({ spanId }) => spanId);
    expect(model.requests.map(({ headers }) => headers['x-agl-parent-span-id'])).toEqual(calls);
  });

  test('of a single streamed call do not prevent recording of the received part', async () => {
    await using model = await ScriptedModel.start([respondWith('one two three')]);
    undo = instrumentAISDK();
    const telemetry = { functionId: 'outer', integrations: counting({}) };
    const { spans } = await traced(model, async () => {
      await streamText({ model: other('tiny'), prompt: 'hi', telemetry }).consumeStream();
    });
    const [call] = ofKind(spans, 'model-call');
    expect(outputText(call)).toBe('one two three');
    expect(call?.attributes['gen_ai.usage.output_tokens']).toBe('one two three'.length + 1);
    expect(spans.map(({ status }) => status.code)).not.toContain('ERROR');
  });

  test.each([
    ['with global integrations', {}],
    ['with its own integrations', { integrations: counting({}) }],
  ])('a streamed call %s is forwarded if telemetry gets a copy without credentials', async (_, telemetry) => {
    await using model = await ScriptedModel.start([respondWith('one two three')]);
    undo = instrumentAISDK();
    const wrapped = wrapLanguageModel({
      model: other('tiny'),
      middleware: {
        // The OpenAI provider does this for MCP tools with an authorization.
        wrapStream: async ({ doStream }) => {
          const redacted = { [Symbol.for('vercel.ai.telemetry.redact')]: () => ({}) };
          return { ...(await doStream()), request: { body: redacted } };
        },
      },
    });
    const { result, spans } = await traced(
      model,
      async () => streamText({ model: wrapped, prompt: 'hi', telemetry }).text,
    );
    expect(result).toBe('one two three');
    expect(ofKind(spans, 'model-call').map(outputText)).toEqual(['one two three']);
    expect(spans.map(({ status }) => status.code)).not.toContain('ERROR');
  });

  test('a call with disabled telemetry is redirected but not recorded', async () => {
    await using model = await ScriptedModel.start([respondWith('hi')]);
    undo = instrumentAISDK();
    const telemetry = { isEnabled: false };
    const { spans } = await traced(model, () => generateText({ model: other('tiny'), prompt: 'hi', telemetry }));
    expect(spans).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });

  test('inputs and outputs excluded by the user are not recorded', async () => {
    await using model = await ScriptedModel.start([callTool('look', { at: 'secret' }), respondWith('secret')]);
    undo = instrumentAISDK();
    const telemetry = { recordInputs: false, recordOutputs: false };
    const look = tool({ inputSchema: z.object({ at: z.string() }), execute: () => 'secret' });
    const { spans } = await traced(model, () =>
      generateText({ model: other('tiny'), prompt: 'secret', tools: { look }, stopWhen: stepCountIs(2), telemetry }),
    );
    expect(spans.map(({ name }) => name)).toEqual([
      'generateText',
      'step 1',
      'chat tiny',
      'execute_tool look',
      'step 2',
      'chat tiny',
    ]);
    expect(JSON.stringify(spans)).not.toContain('secret');
  });

  test('usage is recorded for a response without recorded content', async () => {
    await using model = await ScriptedModel.start([respondWith('secret')]);
    undo = instrumentAISDK();
    const telemetry = { recordOutputs: false };
    const { spans } = await traced(model, () => generateText({ model: other('tiny'), prompt: 'hi', telemetry }));
    const [call] = ofKind(spans, 'model-call');
    expect(call?.attributes['gen_ai.usage.output_tokens']).toBe('secret'.length + 1);
    expect(call?.attributes['gen_ai.response.id']).toEqual(expect.any(String));
    expect(JSON.stringify(spans)).not.toContain('secret');
  });

  test('outside rollouts the integration has no callbacks', async () => {
    undo = instrumentAISDK();
    const [integration] = Reflect.get(globalThis, 'AI_SDK_TELEMETRY_INTEGRATIONS') as [Telemetry];
    const { onStart, onEnd, executeLanguageModelCall } = integration;
    expect([onStart, onEnd, executeLanguageModelCall]).toEqual([undefined, undefined, undefined]);
  });

  test('of version 6 receive the same events', async () => {
    await using model = await ScriptedModel.start([respondWith('hi')]);
    const events: string[] = [];
    undo = instrumentAISDK();
    ai6.registerTelemetryIntegration({
      onStart: () => {
        events.push('start');
      },
      onFinish: () => {
        events.push('finish');
      },
    });
    const own = { onStepFinish: () => void events.push('own step') };
    const tiny = createOpenAICompatible6({ name: 'none', baseURL: 'http://127.0.0.1:1/v1' })('tiny');
    const { spans } = await traced(model, () =>
      ai6.generateText({ model: tiny, prompt: 'hi', experimental_telemetry: { integrations: own } }),
    );
    expect(events).toEqual(['start', 'own step', 'finish']);
    expect(ofKind(spans, 'model-call')).toHaveLength(1);
  });
});
