import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embed, generateText } from 'ai';
import { afterEach, describe, expect, test } from 'vitest';
import { warningsDuring } from '../../../tools/adapter-tests/adapter-warnings.ts';
import { instrumentAISDK } from '../src/index.ts';
import { traced } from './traced.ts';

const key = 'AI_SDK_DEFAULT_PROVIDER';
let undo: () => void = () => {};

afterEach(() => {
  undo();
  Reflect.deleteProperty(globalThis, key);
});

function providerAt(baseURL: string): ReturnType<typeof createOpenAICompatible> {
  return createOpenAICompatible({ name: 'scripted', baseURL, includeUsage: true });
}

const nowhere = 'http://127.0.0.1:1/v1';

describe('models given as a string', () => {
  test('use the endpoint of a rollout and keep their name', async () => {
    await using model = await ScriptedModel.start([respondWith('hi')]);
    undo = instrumentAISDK({ stringModels: providerAt(nowhere) });
    const { result } = await traced(model, () => generateText({ model: 'openai/gpt-5', prompt: 'hi' }));
    expect(result.text).toBe('hi');
    expect(model.requests[0]?.body.model).toBe('openai/gpt-5');
  });

  test('use the default provider elsewhere', async () => {
    await using own = await ScriptedModel.start([respondWith('own'), respondWith('own, too')]);
    await using trained = await ScriptedModel.start([respondWith('trained')]);
    Reflect.set(globalThis, key, providerAt(own.baseUrl));
    const before = Object.getOwnPropertyDescriptor(globalThis, key);
    undo = instrumentAISDK({ stringModels: providerAt(nowhere) });
    const run = (): Promise<string> => generateText({ model: 'm', prompt: 'hi' }).then(({ text }) => text);
    expect(await run()).toBe('own');
    expect((await traced(null, run)).result).toBe('own, too');
    expect((await traced(trained, run)).result).toBe('trained');
    undo();
    expect(Object.getOwnPropertyDescriptor(globalThis, key)).toEqual(before);
  });

  test('do not affect other models of the default provider', async () => {
    await using own = await ScriptedModel.start(() => respondWith(''));
    Reflect.set(globalThis, key, providerAt(own.baseUrl));
    undo = instrumentAISDK({ stringModels: providerAt(nowhere) });
    const { result } = await traced(own, () => embed({ model: 'small', value: 'a' }));
    expect(result.embedding.length).toBeGreaterThan(0);
  });

  test('keep a default provider that was set later after the undo', () => {
    undo = instrumentAISDK({ stringModels: providerAt(nowhere) });
    const later = providerAt(nowhere);
    Reflect.set(globalThis, key, later);
    expect(Reflect.get(globalThis, key)).toBe(later);
    undo();
    expect(Object.getOwnPropertyDescriptor(globalThis, key)).toMatchObject({ value: later, writable: true });
  });

  test('cause a warning without a provider: they cannot be trained', async () => {
    await using model = await ScriptedModel.start([]);
    undo = instrumentAISDK();
    const gateway = { ...providerAt(nowhere).chatModel('openai/gpt-5'), provider: 'gateway', doGenerate: refuse };
    const run = (): Promise<unknown> => generateText({ model: gateway, prompt: 'hi', maxRetries: 0 }).catch(() => null);
    const outside = await warningsDuring(async () => {
      await run();
      await traced(null, run);
    });
    expect(outside).toEqual([]);
    const warnings = await warningsDuring(async () => {
      await traced(model, run);
      await traced(model, run);
    });
    expect(warnings).toEqual([expect.stringMatching(/stringModels.*openai\/gpt-5/)]);
  });
});

function refuse(): Promise<never> {
  return Promise.reject(new Error('no network in tests'));
}
