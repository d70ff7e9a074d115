import {
  type AgentLightningError,
  currentRollout,
  emitMessage,
  emitReward,
  type JsonObject,
} from '@agentlightning/core';
import { AttemptTokens, rewardSourceKey } from '@agentlightning/core/protocol';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AgentContext } from './agent.ts';
import { runTask } from './run-rollouts.ts';

const tokens = new AttemptTokens({ secrets: ['s'.repeat(32)] });
const judged: JsonObject = { [rewardSourceKey]: 'evaluator' };
let store: SqlStore;
beforeEach(async () => {
  store = await openStore(':memory:');
});
afterEach(() => store.close());

test('a runner in another network replaces the URL of the gateway', async () => {
  await store.addResources({
    policy: {
      resourceType: 'proxy_llm',
      endpoint: 'http://127.0.0.1:1/v1',
      model: 'm',
      apiKey: null,
      samplingParameters: {},
    },
  });
  let given: AgentContext | undefined;
  const agent = (_task: unknown, context: AgentContext): void => {
    given = context;
  };
  await runTask({ store, agent, task: { input: 1 }, gatewayUrl: 'https://gateway:4750/v1' });
  expect(given?.endpoint?.baseUrl).toMatch(/^https:\/\/gateway:4750\/rollout\/.*\/attempt\/.*\/v1$/);
  expect(given?.resources['policy']).toMatchObject({ endpoint: given?.endpoint?.baseUrl });
});

describe('an attempt token', () => {
  /** Returns the context that an agent receives. */
  async function contextOf(metadata: JsonObject = {}, hasTokens = true): Promise<AgentContext | undefined> {
    await store.addResources({
      policy: {
        resourceType: 'proxy_llm',
        endpoint: 'http://gateway/v1',
        model: 'm',
        apiKey: 'gateway-key',
        samplingParameters: {},
      },
    });
    let given: AgentContext | undefined;
    await runTask({
      store,
      agent: (_task, context) => {
        given = context;
        expect(currentRollout()?.endpoint).toEqual(context.endpoint);
      },
      task: { input: 1, metadata, config: { timeoutMs: 60_000 } },
      ...(hasTokens ? { createAttemptToken: (request) => tokens.create(request) } : {}),
    });
    return given;
  }

  test('replaces the gateway’s key everywhere in the context', async () => {
    const context = await contextOf();
    const { rolloutId, attemptId, attemptToken } = context ?? {};
    expect(await tokens.verify(attemptToken ?? '')).toMatchObject({ rolloutId, attemptId, mayReward: true });
    expect(context?.endpoint?.apiKey).toBe(attemptToken);
    expect(JSON.stringify(context)).not.toContain('gateway-key');
  });

  test('cannot record rewards if an evaluator does', async () => {
    const context = await contextOf(judged);
    expect(await tokens.verify(context?.attemptToken ?? '')).toMatchObject({ mayReward: false });
  });

  test('is valid for an hour beyond the timeout of its rollout', async () => {
    const nowMs = Date.now();
    const { expiresAtMs } = await tokens.verify((await contextOf())?.attemptToken ?? '');
    expect(expiresAtMs).toBeGreaterThanOrEqual(nowMs + 3_660_000);
    expect(expiresAtMs).toBeLessThan(nowMs + 2 * 3_660_000);
  });

  test('is null unless the runner creates tokens', async () => {
    const context = await contextOf({}, false);
    expect(context).toMatchObject({ attemptToken: null, endpoint: { apiKey: 'gateway-key' } });
  });
});

describe('with rewards from an evaluator', () => {
  test('the agent’s returned and emitted rewards are not recorded but reported', async () => {
    const errors: AgentLightningError[] = [];
    const missing: string[] = [];
    const outcome = await runTask({
      store,
      agent: () => {
        emitMessage('kept');
        emitReward(1);
        return 1;
      },
      task: { input: 1, metadata: judged },
      events: { onError: (error) => errors.push(error), onMissingReward: ({ rolloutId }) => missing.push(rolloutId) },
    });
    expect(outcome).toMatchObject({ ending: 'succeeded', reward: null });
    const { items } = await store.querySpans({ rolloutId: outcome.rolloutId });
    expect(items.map(({ name }) => name).sort()).toEqual(['agentlightning.message', 'agentlightning.rollout']);
    expect(errors).toMatchObject([{ code: 'PERMISSION_DENIED', remedy: expect.stringContaining(rewardSourceKey) }]);
    expect(missing).toEqual([]);
  });

  test('a reward from a hook is recorded', async () => {
    const outcome = await runTask({
      store,
      agent: () => 1,
      task: { input: 1, metadata: judged },
      hooks: { onRolloutEnd: () => void emitReward(0.25) },
    });
    expect(outcome).toMatchObject({ ending: 'succeeded', reward: 0.25 });
  });
});
