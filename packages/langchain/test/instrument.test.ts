import { withRollout } from '@agentlightning/core';
import { answer, aRolloutContext, MemorySpanSink, ScriptedModel } from '@agentlightning/core/testing';
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import { CallbackManager } from '@langchain/core/callbacks/manager';
import { RunnableLambda } from '@langchain/core/runnables';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { agentLightningCallbackHandler, instrumentLangChain } from '../src/index.ts';
import { modelOf, traced, warningsDuring } from './traced.ts';

const chain = RunnableLambda.from((text: string) => text.length).withConfig({ runName: 'count' });

/** A handler as users have them, that counts what it is told. */
class Counter extends BaseCallbackHandler {
  name: string = 'counter';
  override awaitHandlers: boolean = true;
  readonly told: { readonly name: string | undefined; readonly tags: readonly string[]; readonly parent: unknown }[] =
    [];

  override handleChainStart(...args: Parameters<NonNullable<BaseCallbackHandler['handleChainStart']>>): void {
    const [, , , parent, tags = [], , , name] = args;
    this.told.push({ name, tags, parent });
  }
}

describe('the user’s own callbacks', () => {
  test('are told what they were told before, and their list is not touched', async () => {
    const counter = new Counter();
    const callbacks = [counter];
    const outer = RunnableLambda.from((text: string, config) => chain.invoke(text, config)).withConfig({
      runName: 'outer',
    });
    const { tree } = await traced(() => outer.invoke('hello', { callbacks, tags: ['mine'] }));
    expect(callbacks).toEqual([counter]);
    expect(counter.told.map(({ name }) => name)).toEqual(['outer', 'count']);
    expect(counter.told.map(({ parent }) => typeof parent)).toEqual(['undefined', 'string']);
    expect(counter.told.map(({ tags }) => tags)).toEqual([['mine'], ['mine']]);
    expect(tree).toEqual(['outer', '  count']);
  });

  test('may come as a manager, which is left as it is', async () => {
    const counter = new Counter();
    const manager = new CallbackManager();
    manager.addHandler(counter, true);
    manager.addTags(['of the manager']);
    const { tree } = await traced(() => chain.invoke('hello', { callbacks: manager }));
    expect(manager.handlers).toEqual([counter]);
    expect(counter.told.map(({ tags }) => tags)).toEqual([['of the manager']]);
    expect(tree).toEqual(['count']);
  });

  test('that throw are LangChain’s business, as ever', async () => {
    const broken = new Counter();
    broken.raiseError = true;
    broken.handleChainStart = () => {
      throw new TypeError('mine');
    };
    await expect(traced(() => chain.invoke('hello', { callbacks: [broken] }))).rejects.toThrow('mine');
  });
});

describe('the handler for those who would rather say so', () => {
  test('traces the runs it is passed to', async () => {
    const sink = new MemorySpanSink();
    await withRollout(aRolloutContext({ sink }), async () => {
      await chain.invoke('hello', { callbacks: [agentLightningCallbackHandler()] });
      await chain.invoke('hello');
    });
    expect(sink.spans.map(({ name }) => name)).toEqual(['count']);
  });

  test('changes nothing beside the one line', async () => {
    const { tree } = await traced(() => chain.invoke('hello', { callbacks: [agentLightningCallbackHandler()] }));
    expect(tree).toEqual(['count']);
  });
});

describe('the one line', () => {
  test('is undone when the last of those who asked for it undoes it', async () => {
    const before = CallbackManager._configureSync;
    const [first, second] = [instrumentLangChain(), instrumentLangChain()];
    first();
    first();
    expect(CallbackManager._configureSync).not.toBe(before);
    second();
    expect(CallbackManager._configureSync).toBe(before);
  });

  test('undone, it passes on beneath what somebody else has patched over it', async () => {
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

  test('leaves the calls of a judge alone', async () => {
    await using judge = await ScriptedModel.start([answer('good')]);
    await using gateway = await ScriptedModel.start([answer('5')]);
    const endpoint = { baseUrl: gateway.baseUrl, model: 'policy', apiKey: 'key' };
    const undo = instrumentLangChain({ shouldRedirect: ({ model }) => model !== 'judge' });
    await traced(() => modelOf(judge).invoke('2 + 3?'), { endpoint });
    await traced(() => modelOf(judge, { model: 'judge' }).invoke('Is it 5?'), { endpoint }).finally(undo);
    expect(judge.requests[0]?.headers.authorization).toBe('Bearer own');
  });

  test('given a module that is not LangChain, warns with the remedy and changes nothing', async () => {
    const before = [CallbackManager._configureSync, globalThis.fetch, OpenAI.prototype.fetchWithTimeout];
    const wrong = { generateText: () => {} };
    const [warning] = await warningsDuring(() => instrumentLangChain({ modules: [wrong] }));
    expect(warning).toMatch(/UNSUPPORTED_FRAMEWORK.*generateText.*@langchain\/core 0\.3\.80.*Install/);
    expect([CallbackManager._configureSync, globalThis.fetch, OpenAI.prototype.fetchWithTimeout]).toEqual(before);
  });

  test('with an unsupported version of LangChain, warns with the version and leaves nothing behind', async () => {
    // Versions before 0.3 configure their callbacks by another method.
    const configure = Object.getOwnPropertyDescriptor(CallbackManager, '_configureSync') ?? {};
    const { fetch } = globalThis;
    Reflect.deleteProperty(CallbackManager, '_configureSync');
    try {
      const [warning] = await warningsDuring(() => instrumentLangChain());
      expect(warning).toMatch(
        /Runs cannot be traced of @langchain\/core 1\.\d+\.\d+\. Supported are @langchain\/core 0\.3\.80/,
      );
      expect(globalThis.fetch).toBe(fetch);
    } finally {
      Object.defineProperty(CallbackManager, '_configureSync', configure);
    }
    instrumentLangChain()();
  });
});
