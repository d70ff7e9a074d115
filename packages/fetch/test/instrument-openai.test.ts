import { createRequire } from 'node:module';
import { type RolloutContext, withRollout } from '@agentlightning/core';
import { aRolloutContext, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { instrumentGlobalFetch, instrumentOpenAI, traceFetch } from '@agentlightning/fetch';
import OpenAI, { AzureOpenAI } from 'openai';
import { describe, expect, test } from 'vitest';

const messages = [{ role: 'user' as const, content: 'hi' }];

async function spansOf(client: Pick<OpenAI, 'chat'>, fields: Partial<RolloutContext> = {}): Promise<number> {
  const sink = new MemorySpanSink();
  await withRollout(aRolloutContext({ sink, ...fields }), () =>
    client.chat.completions.create({ model: 'tiny', messages }),
  );
  return sink.spans.length;
}

describe('a patched class of openai', () => {
  test('clients get their original fetch back and keep calling it', async () => {
    await using model = await ScriptedModel.start(() => respondWith('hi'));
    let calls = 0;
    const own: typeof fetch = (input, init) => {
      calls += 1;
      return fetch(input, init);
    };
    const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'x', fetch: own });
    const undo = instrumentOpenAI(OpenAI);
    expect(await spansOf(client)).toBe(1);
    undo();
    expect(Reflect.get(client, 'fetch')).toBe(own);
    expect(await spansOf(client)).toBe(0);
    expect(calls).toBe(2);
  });

  test('a call is recorded once under all instrumentations together', async () => {
    await using model = await ScriptedModel.start(() => respondWith('hi'));
    const undos = [instrumentGlobalFetch(), instrumentOpenAI(OpenAI), instrumentOpenAI(OpenAI)];
    const wrapper: typeof fetch = (input, init) => globalThis.fetch(input, init);
    for (const options of [{}, { fetch: traceFetch() }, { fetch: wrapper }]) {
      const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'x', ...options });
      expect(await spansOf(client)).toBe(1);
      expect(await spansOf(client.withOptions({ maxRetries: 0 }))).toBe(1);
    }
    for (const undo of undos) undo();
  });

  test.for(['openai', 'openai-v6'])('the result of require(%o) is accepted instead of the class', async (name) => {
    await using model = await ScriptedModel.start(() => respondWith('hi'));
    const required: typeof OpenAI = createRequire(import.meta.url)(name);
    const undo = instrumentOpenAI(required);
    const client = new required({ baseURL: model.baseUrl, apiKey: 'x' });
    expect(await spansOf(client)).toBe(1);
    undo();
    expect(await spansOf(client)).toBe(0);
  });

  test('subclasses are traced, and the required copy after its own call', async () => {
    await using model = await ScriptedModel.start(() => respondWith('hi'));
    const required: { readonly OpenAI: typeof OpenAI } = createRequire(import.meta.url)('openai');
    expect(required.OpenAI).not.toBe(OpenAI);
    const options = { baseURL: model.baseUrl, apiKey: 'x' };
    const other = new required.OpenAI(options);
    const undo = instrumentOpenAI(OpenAI);
    expect(await spansOf(other)).toBe(0);
    expect(await spansOf(new AzureOpenAI({ ...options, apiVersion: '1' }))).toBe(1);
    const undoRequired = instrumentOpenAI(required.OpenAI);
    expect(await spansOf(other)).toBe(1);
    undo();
    undoRequired();
  });

  test('calls excluded by shouldTrace are not recorded', async () => {
    await using model = await ScriptedModel.start(() => respondWith('hi'));
    const undo = instrumentOpenAI(OpenAI, { shouldTrace: ({ model: name }) => name !== 'tiny' });
    expect(await spansOf(new OpenAI({ baseURL: model.baseUrl, apiKey: 'x' }))).toBe(0);
    undo();
  });

  test('a later patch of the same method survives the undo and keeps working', async () => {
    await using model = await ScriptedModel.start(() => respondWith('hi'));
    const prototype = OpenAI.prototype as unknown as Record<'fetchWithTimeout', (...args: unknown[]) => unknown>;
    const original = prototype.fetchWithTimeout;
    const undo = instrumentOpenAI(OpenAI);
    const ours = prototype.fetchWithTimeout;
    const theirs = function (this: unknown, ...args: unknown[]): unknown {
      return ours.apply(this, args);
    };
    prototype.fetchWithTimeout = theirs;
    undo();
    expect(prototype.fetchWithTimeout).toBe(theirs);
    expect(await spansOf(new OpenAI({ baseURL: model.baseUrl, apiKey: 'x' }))).toBe(0);
    prototype.fetchWithTimeout = original;
  });

  test.for([
    ['a client instead of the class', new OpenAI({ apiKey: 'x' }), 'received object'],
    ['another class', class Other {}, "received the function 'Other'"],
    [
      'an older major',
      class OpenAI {
        getUserAgent(): string {
          return 'OpenAI/JS 5.23.2';
        }
        fetchWithTimeout(): void {}
      },
      'the class of version 5.23.2',
    ],
    ['nothing', null, 'received null'],
  ] as const)('%s causes a warning with the remedy', async ([, value, message]) => {
    const warnings: string[] = [];
    const onWarning = (warning: Error): unknown => warnings.push(warning.message);
    process.on('warning', onWarning);
    instrumentOpenAI(value as unknown as typeof OpenAI)();
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    expect(warnings).toEqual([expect.stringContaining(message)]);
    expect(warnings[0]).toContain('Pass the class itself');
  });
});
