import { withRollout } from '@agentlightning/core';
import { aRolloutContext, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import { CallbackManager } from '@langchain/core/callbacks/manager';
import { RunnableLambda } from '@langchain/core/runnables';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { warningsDuring } from '../../../tools/adapter-tests/adapter-warnings.ts';
import { instrumentLangChain, traceCallbacks } from '../src/index.ts';
import { modelOf, traced } from './traced.ts';

const chain = RunnableLambda.from((text: string) => text.length).withConfig({ runName: 'count' });

/** A user-defined handler that records its events. */
class Counter extends BaseCallbackHandler {
  name: string = 'counter';
  override awaitHandlers: boolean = true;
  readonly events: { readonly name: string | undefined; readonly tags: readonly string[]; readonly parent: unknown }[] =
    [];

  override handleChainStart(...args: Parameters<NonNullable<BaseCallbackHandler['handleChainStart']>>): void {
    const [, , , parent, tags = [], , , name] = args;
    this.events.push({ name, tags, parent });
  }
}

describe('the user’s own callbacks', () => {
  test('receive the same events as before, and their list is not modified', async () => {
    const counter = new Counter();
    const callbacks = [counter];
    const outer = RunnableLambda.from((text: string, config) => chain.invoke(text, config)).withConfig({
      runName: 'outer',
    });
    const { tree } = await traced(() => outer.invoke('hello', { callbacks, tags: ['mine'] }));
    expect(callbacks).toEqual([counter]);
    expect(counter.events.map(({ name }) => name)).toEqual(['outer', 'count']);
    expect(counter.events.map(({ parent }) => typeof parent)).toEqual(['undefined', 'string']);
    expect(counter.events.map(({ tags }) => tags)).toEqual([['mine'], ['mine']]);
    expect(tree).toEqual(['outer', '  count']);
  });

  test('may be a manager, which is not modified', async () => {
    const counter = new Counter();
    const manager = new CallbackManager();
    manager.addHandler(counter, true);
    manager.addTags(['of the manager']);
    const { tree } = await traced(() => chain.invoke('hello', { callbacks: manager }));
    expect(manager.handlers).toEqual([counter]);
    expect(counter.events.map(({ tags }) => tags)).toEqual([['of the manager']]);
    expect(tree).toEqual(['count']);
  });

  test('that throw are handled by LangChain', async () => {
    const broken = new Counter();
    broken.raiseError = true;
    broken.handleChainStart = () => {
      throw new TypeError('mine');
    };
    await expect(traced(() => chain.invoke('hello', { callbacks: [broken] }))).rejects.toThrow('mine');
  });
});

describe('traceCallbacks', () => {
  test('traces the runs it is passed to', async () => {
    const sink = new MemorySpanSink();
    await withRollout(aRolloutContext({ sink }), async () => {
      await chain.invoke('hello', { callbacks: [traceCallbacks()] });
      await chain.invoke('hello');
    });
    expect(sink.spans.map(({ name }) => name)).toEqual(['count']);
  });

  test('has no effect in addition to instrumentLangChain', async () => {
    const { tree } = await traced(() => chain.invoke('hello', { callbacks: [traceCallbacks()] }));
    expect(tree).toEqual(['count']);
  });
});

describe('instrumentLangChain', () => {
  test('stays in effect until the last undo', async () => {
    const before = CallbackManager._configureSync;
    const [first, second] = [instrumentLangChain(), instrumentLangChain()];
    first();
    first();
    expect(CallbackManager._configureSync).not.toBe(before);
    second();
    expect(CallbackManager._configureSync).toBe(before);
  });

  test('forwards calls of a later patch after its undo', async () => {
    const before = CallbackManager._configureSync;
    const undo = instrumentLangChain();
    const ours = CallbackManager._configureSync;
    CallbackManager._configureSync = function (...args) {
      return ours.apply(this, args);
    };
    undo();
    const sink = new MemorySpanSink();
    await withRollout(aRolloutContext({ sink }), () => chain.invoke('hello'));
    CallbackManager._configureSync = before;
    expect(sink.spans).toEqual([]);
  });

  test('does not redirect calls excluded by shouldRedirect', async () => {
    await using judge = await ScriptedModel.start([respondWith('good')]);
    await using gateway = await ScriptedModel.start([respondWith('5')]);
    const endpoint = { baseUrl: gateway.baseUrl, model: 'policy', apiKey: 'key' };
    const undo = instrumentLangChain({ shouldRedirect: ({ model }) => model !== 'judge' });
    await traced(() => modelOf(judge).invoke('2 + 3?'), { endpoint });
    await traced(() => modelOf(judge, { model: 'judge' }).invoke('Is it 5?'), { endpoint }).finally(undo);
    expect(judge.requests[0]?.headers.authorization).toBe('Bearer own');
  });

  test('emits a warning with the remedy for a module that is not LangChain', async () => {
    const before = [CallbackManager._configureSync, globalThis.fetch, OpenAI.prototype.fetchWithTimeout];
    const wrong = { generateText: () => {} };
    const [warning] = await warningsDuring(() => instrumentLangChain({ modules: [wrong] }));
    expect(warning).toMatch(/UNSUPPORTED_FRAMEWORK.*generateText.*@langchain\/core 0\.3\.80.*Install/);
    expect([CallbackManager._configureSync, globalThis.fetch, OpenAI.prototype.fetchWithTimeout]).toEqual(before);
  });

  test('emits a warning with the version for an unsupported LangChain and patches nothing', async () => {
    // Versions before 0.3 configure callbacks with another method.
    const configure = Object.getOwnPropertyDescriptor(CallbackManager, '_configureSync') ?? {};
    const { fetch } = globalThis;
    Reflect.deleteProperty(CallbackManager, '_configureSync');
    try {
      const [warning] = await warningsDuring(() => instrumentLangChain());
      expect(warning).toMatch(
        /Cannot trace runs of @langchain\/core 1\.\d+\.\d+\. Supported are @langchain\/core 0\.3\.80/,
      );
      expect(globalThis.fetch).toBe(fetch);
    } finally {
      Object.defineProperty(CallbackManager, '_configureSync', configure);
    }
    instrumentLangChain()();
  });
});
