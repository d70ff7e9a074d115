import type { RolloutConfig, Store } from '@agentlightning/core';
import { ManualClock } from '@agentlightning/core/testing';
import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../src/index.ts';

const clock = new ManualClock();
let store: Store & { close(): Promise<void> };

beforeEach(async () => {
  store = await openStore(':memory:', { clock });
});

afterEach(() => store.close());

async function claimed(config: Partial<RolloutConfig> = {}): Promise<{ rolloutId: string; attemptId: string }> {
  await store.enqueueRollouts([{ input: 1, config }]);
  const [first] = await store.claimRollouts({ workerId: 'worker-1' });
  assert(first !== undefined);
  return { rolloutId: first.rolloutId, attemptId: first.attempt.attemptId };
}

describe('a refused value is named with its field', () => {
  test.each<[Partial<RolloutConfig>, string]>([
    [
      { timeoutMs: -1 },
      'Rollout config is not valid: timeoutMs: must be a number of milliseconds, or null for no limit, got -1',
    ],
    [{ timeoutMs: Number.NaN }, 'timeoutMs: must be a number of milliseconds, or null for no limit, got NaN'],
    [{ unresponsiveMs: Infinity }, 'unresponsiveMs: must be a number of milliseconds, or null for no limit, got Inf'],
    [{ maxAttempts: 0 }, 'maxAttempts: must be an integer of at least 1, got 0'],
    [{ maxAttempts: 1.5 }, 'maxAttempts: must be an integer of at least 1, got 1.5'],
  ])('of a configuration: %j', async (config, message) => {
    const refused = expect.objectContaining({ code: 'VALIDATION', message: expect.stringContaining(message) });
    await expect(store.enqueueRollouts([{ input: 1, config }])).rejects.toEqual(refused);
  });

  test.each([0, -1, 1.5, Number.NaN])('of a claim: a limit of %s', async (limit) => {
    await expect(store.claimRollouts({ limit })).rejects.toThrow(
      `Claim is not valid: limit: must be an integer of at least 1, got ${limit}`,
    );
  });

  test('of a rollout of production', async () => {
    const production = { input: 2, mode: 'production' } as const;
    await expect(store.enqueueRollouts([{ input: 1 }, production])).rejects.toThrow(
      /Rollout is not valid: 1\.mode: production is the mode of recorded traces.*recordTraces/,
    );
    expect((await store.queryRollouts({})).total).toBe(0);
  });

  test('of ids', async () => {
    const { rolloutId } = await claimed();
    const wrong = 'a b';
    await expect(store.enqueueRollouts([{ input: 1, rolloutId: wrong }])).rejects.toThrow(
      'Id is not valid: rolloutId: "a b"',
    );
    await expect(store.enqueueRollouts([{ input: 1, runId: wrong }])).rejects.toThrow('Id is not valid: runId: "a b"');
    await expect(store.enqueueRollouts([{ input: 1, resourcesId: wrong }])).rejects.toThrow(
      'Id is not valid: resourcesId: "a b"',
    );
    await expect(store.updateRollout(rolloutId, { resourcesId: wrong })).rejects.toThrow(
      'Id is not valid: resourcesId: "a b"',
    );
    await expect(store.claimRollouts({ workerId: wrong })).rejects.toThrow('Id is not valid: workerId: "a b"');
    await expect(store.updateAttempt(rolloutId, 'latest', { workerId: wrong })).rejects.toThrow(
      'Id is not valid: workerId: "a b"',
    );
  });
});

describe('enqueued rollouts', () => {
  test('may have no time at all', async () => {
    const [rollout] = await store.enqueueRollouts([{ input: 1, config: { timeoutMs: 0, unresponsiveMs: 0 } }]);
    expect(rollout?.config).toMatchObject({ timeoutMs: 0, unresponsiveMs: 0 });
  });

  test('with one id in one request are one rollout', async () => {
    const [first, second] = await store.enqueueRollouts([
      { input: 1, rolloutId: 'ro-1' },
      { input: 2, rolloutId: 'ro-1' },
    ]);
    expect(second).toEqual(first);
    expect((await store.queryRollouts({})).total).toBe(1);
  });

  test('take the latest resources where they name none', async () => {
    const [old, latest] = [await store.addResources({}), await store.addResources({})];
    const rollouts = await store.enqueueRollouts([{ input: 1, resourcesId: old.resourcesId }, { input: 2 }]);
    expect(rollouts.map(({ resourcesId }) => resourcesId)).toEqual([old.resourcesId, latest.resourcesId]);
    expect((await store.startRollout({ input: 3 })).resourcesId).toBe(latest.resourcesId);
  });

  test('need the run that they name, also without the queue', async () => {
    await expect(store.startRollout({ input: 1, runId: 'run-1' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('an attempt', () => {
  test('loses its worker by an empty id, and nothing else', async () => {
    const { rolloutId } = await claimed();
    const before = await store.updateAttempt(rolloutId, 'latest', { metadata: { seat: 1 } });
    expect(before.workerId).toBe('worker-1');
    const after = await store.updateAttempt(rolloutId, 'latest', { workerId: '' });
    expect(after).toEqual({ ...before, workerId: null });
    expect(await store.getLatestAttempt(rolloutId)).toEqual(after);
  });

  test('has the time of the store for a heartbeat, and keeps it otherwise', async () => {
    const { rolloutId } = await claimed();
    await clock.advance(1500);
    const beat = await store.updateAttempt(rolloutId, 'latest', { lastHeartbeatTimeMs: 1 });
    expect(beat.lastHeartbeatTimeMs).toBe(clock.now());
    await clock.advance(1500);
    const { lastHeartbeatTimeMs } = await store.updateAttempt(rolloutId, 'latest', { metadata: {} });
    expect(lastHeartbeatTimeMs).toBe(beat.lastHeartbeatTimeMs);
  });

  test.each(['failed', 'timeout', 'unresponsive'] as const)(
    'that was given back and ends as %s later does not count, and the rollout waits in the queue',
    async (status) => {
      const { rolloutId, attemptId } = await claimed({ maxAttempts: 1 });
      await store.updateRollout(rolloutId, { status: 'requeuing' });
      await store.updateAttempt(rolloutId, attemptId, { status });
      expect((await store.getRollout(rolloutId)).status).toBe('requeuing');
      const [again] = await store.claimRollouts();
      expect(again).toMatchObject({ rolloutId, attempt: { sequenceId: 2 } });
      // The one that was given back used up none of the agent's attempts.
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      expect((await store.getRollout(rolloutId)).status).toBe('failed');
    },
  );
});

describe('a rollout', () => {
  test('loses its resources and its metadata by null', async () => {
    const { resourcesId } = await store.addResources({});
    const [rollout] = await store.enqueueRollouts([{ input: 1, resourcesId, metadata: { seat: 1 } }]);
    assert(rollout !== undefined);
    const updated = await store.updateRollout(rollout.rolloutId, { resourcesId: null, metadata: null });
    expect(updated).toMatchObject({ resourcesId: null, metadata: null });
    expect(await store.getRollout(rollout.rolloutId)).toEqual(updated);
    await store.updateRollout(rollout.rolloutId, { resourcesId });
    expect((await store.getRollout(rollout.rolloutId)).resourcesId).toBe(resourcesId);
  });

  test('keeps its open attempt when it gets the status that it has', async () => {
    const { rolloutId } = await claimed();
    const before = await store.getLatestAttempt(rolloutId);
    await store.updateRollout(rolloutId, { status: 'preparing' });
    expect(await store.getLatestAttempt(rolloutId)).toEqual(before);
  });

  test('of production may be described, and not be queued', async () => {
    const { rolloutId, attemptId } = await claimed();
    await store.updateAttempt(rolloutId, attemptId, { status: 'succeeded' });
    const updated = await store.updateRollout(rolloutId, { mode: 'production', metadata: { seat: 2 } });
    expect(updated.metadata).toEqual({ seat: 2 });
    await expect(store.updateRollout(rolloutId, { status: 'requeuing' })).rejects.toThrow(/mode: production/);
  });

  test('that is cancelled says so in its attempt', async () => {
    const { rolloutId } = await claimed();
    await store.updateRollout(rolloutId, { status: 'cancelled' });
    const attempt = await store.getLatestAttempt(rolloutId);
    expect(JSON.stringify(attempt?.metadata)).toContain(`rollout ${rolloutId} was cancelled`);
  });
});
