import { describe, expect, test } from 'vitest';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { respondWith } from '../testing/scripted-model-step.ts';
import { type RolloutContext, withRollout } from '../tracing/rollout-context.ts';
import { AgentSteps } from './agent-steps.ts';
import { redirectGlobalFetch } from './global-fetch.ts';
import { redirectedFetch } from './redirected-fetch.ts';

const body = JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'hi' }] });
const nowhere = 'http://127.0.0.1:1/v1/chat/completions';

function contextTo(gateway: ScriptedModel): RolloutContext {
  const baseUrl = gateway.baseUrl.replace('/v1', '/rollout/ro-1/attempt/at-1/v1');
  return aRolloutContext({ endpoint: { baseUrl, model: 'policy', apiKey: 'gateway-key' } });
}

function post(send: typeof fetch, url: string = nowhere): Promise<string> {
  return send(url, { method: 'POST', body, headers: { authorization: 'Bearer own' } }).then((reply) => reply.text());
}

describe('a redirected fetch', () => {
  test('sends a model call to the attempt, with the trace position of its step', async () => {
    await using gateway = await ScriptedModel.start([respondWith('5')]);
    const steps = new AgentSteps({ framework: 'test' });
    await withRollout(contextTo(gateway), async () => {
      steps.start({ id: 'a', parentId: null, kind: 'agent', name: 'boss > all' });
      steps.start({ id: 'b', parentId: 'a', kind: 'agent', name: 'wörker' });
      await post(redirectedFetch({ position: () => steps.positionOf('b') }));
      expect(gateway.requests[0]?.headers).toMatchObject({
        authorization: 'Bearer gateway-key',
        'x-agl-parent-span-id': steps.positionOf('b')?.parentSpanId,
        'x-agl-agent-name': 'w%C3%B6rker',
        'x-agl-agent-path': 'boss%20%3E%20all>w%C3%B6rker',
      });
    });
    expect(gateway.requests[0]?.path).toBe('/rollout/ro-1/attempt/at-1/v1/chat/completions');
  });

  test('does not redirect calls outside of a rollout, without an endpoint, or excluded by options', async () => {
    await using own = await ScriptedModel.start([respondWith('a'), respondWith('b'), respondWith('c')]);
    await using gateway = await ScriptedModel.start([]);
    const url = `${own.baseUrl}/chat/completions`;
    await post(redirectedFetch(), url);
    await withRollout(aRolloutContext(), () => post(redirectedFetch(), url));
    await withRollout(contextTo(gateway), () => post(redirectedFetch({ shouldRedirect: () => false }), url));
    for (const { headers } of own.requests) {
      expect(headers.authorization).toBe('Bearer own');
      expect(headers).not.toHaveProperty('x-agl-trace-id');
    }
  });

  test('over another one, also through a foreign wrapper, uses the trace position of the outer one', async () => {
    await using gateway = await ScriptedModel.start([respondWith('a'), respondWith('b')]);
    const position = { parentSpanId: 'feedfeedfeedfeed', agentName: 'outer', agentPath: ['outer'] };
    const inner = redirectedFetch();
    const wrapped: typeof fetch = (input, init) => inner(input, init);
    await withRollout(contextTo(gateway), async () => {
      await post(redirectedFetch({ fetch: inner, position: () => position }));
      await post(redirectedFetch({ fetch: wrapped, position: () => position }));
    });
    expect(gateway.requests.map(({ headers }) => headers['x-agl-agent-name'])).toEqual(['outer', 'outer']);
  });

  test('falls back to the trace position of the layers beneath', async () => {
    await using gateway = await ScriptedModel.start([respondWith('a')]);
    const position = { parentSpanId: null, agentName: 'inner', agentPath: ['inner'] };
    const outer = redirectedFetch({ fetch: redirectedFetch({ position: () => position }), position: () => null });
    await withRollout(contextTo(gateway), () => post(outer));
    expect(gateway.requests[0]?.headers['x-agl-agent-name']).toBe('inner');
  });

  test('an outage of the gateway is waited for, and other errors and an ended rollout are not', async () => {
    await using gateway = await ScriptedModel.start([respondWith('a')]);
    const reset = new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) });
    let failures = 2;
    const unstable: typeof fetch = (input, init) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(reset) : fetch(input, init);
    };
    const outcomes: boolean[] = [];
    const context = { ...contextTo(gateway), onModelCall: () => (isDown: boolean) => void outcomes.push(isDown) };
    await withRollout(context, () => post(redirectedFetch({ fetch: unstable })));
    expect(gateway.requests).toHaveLength(1);
    expect(outcomes).toEqual([false]);

    let calls = 0;
    const failing = (error: Error): typeof fetch =>
      (async () => {
        calls += 1;
        throw error;
      }) as typeof fetch;
    const wrong = new TypeError('Invalid URL');
    await expect(withRollout(context, () => post(redirectedFetch({ fetch: failing(wrong) })))).rejects.toBe(wrong);
    const ended = { ...context, signal: AbortSignal.abort() };
    await expect(withRollout(ended, () => post(redirectedFetch({ fetch: failing(reset) })))).rejects.toBe(reset);
    expect(calls).toBe(2);
  });

  test('a throwing sink does not prevent the call', async () => {
    await using gateway = await ScriptedModel.start([respondWith('a')]);
    const broken = (): never => {
      throw new TypeError('the sink is broken');
    };
    await withRollout({ ...contextTo(gateway), sink: { append: broken, flush: broken } }, () =>
      post(redirectedFetch()),
    );
    expect(gateway.requests).toHaveLength(1);
  });
});

describe('the redirected global fetch', () => {
  test.for([
    [0, 1],
    [1, 0],
  ])('is shared by several layers and restored by the last undo, in the order %o', async (order) => {
    await using gateway = await ScriptedModel.start([respondWith('a'), respondWith('b')]);
    const original = globalThis.fetch;
    const undos = [redirectGlobalFetch(), redirectGlobalFetch()];
    const kept = globalThis.fetch;
    await withRollout(contextTo(gateway), () => post(globalThis.fetch));
    undos[order[0] ?? 0]?.();
    undos[order[0] ?? 0]?.();
    await withRollout(contextTo(gateway), () => post(globalThis.fetch));
    undos[order[1] ?? 0]?.();
    expect(globalThis.fetch).toBe(original);
    await expect(
      withRollout(contextTo(gateway), () => post(kept)),
      'a kept reference only delegates',
    ).rejects.toThrow('fetch failed');
  });

  test('a foreign wrapper over it stays and continues to work', async () => {
    await using own = await ScriptedModel.start([respondWith('a')]);
    const original = globalThis.fetch;
    const undo = redirectGlobalFetch();
    const patched = globalThis.fetch;
    const wrapper: typeof fetch = (input, init) => patched(input, init);
    globalThis.fetch = wrapper;
    undo();
    expect(globalThis.fetch).toBe(wrapper);
    await post(globalThis.fetch, `${own.baseUrl}/chat/completions`);
    globalThis.fetch = original;
  });
});
