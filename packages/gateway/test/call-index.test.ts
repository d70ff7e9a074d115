import type { Attempt } from '@agentlightning/core';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { ManualClock, respondWith } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { describe, expect, it } from 'vitest';
import {
  completionBody,
  type GatewayFixture,
  quickRetry,
  respondJson,
  simpleRequest,
  startGateway,
  startUpstream,
  storeWith,
} from './gateway-fixture.ts';

const sampling = { val: { temperature: 0, seed: 5 } };

/** An attempt whose seeds do not depend on its id. */
async function attemptOf({ store }: GatewayFixture): Promise<AttemptedRollout> {
  return await store.startRollout({ input: 1, mode: 'val', metadata: { sampling_key: 'fixed' } });
}

async function complete(fixture: GatewayFixture, attempt: AttemptedRollout): Promise<unknown> {
  return await fixture.client(attempt).chat.completions.create(simpleRequest);
}

function seedsOf({ model }: GatewayFixture): readonly unknown[] {
  return model.requests.map(({ body }) => body.seed);
}

/** The seeds of an attempt whose calls all succeed. */
async function uninterrupted(count: number): Promise<readonly unknown[]> {
  await using fixture = await startGateway({ sampling, script: () => respondWith('5') });
  const attempt = await attemptOf(fixture);
  for (let call = 0; call < count; call += 1) await complete(fixture, attempt);
  return seedsOf(fixture);
}

describe('the seed of a repeated call', () => {
  it('is that of the call that came before a model was registered', async () => {
    const expected = await uninterrupted(2);
    await using fixture = await startGateway({ sampling, mayBeEmpty: true, script: () => respondWith('5') });
    const attempt = await attemptOf(fixture);
    fixture.gateway.setUpstream([]);
    await expect(complete(fixture, attempt)).rejects.toMatchObject({ status: 503 });
    fixture.gateway.setUpstream([{ baseUrl: fixture.model.baseUrl, model: 'policy' }]);
    await complete(fixture, attempt);
    await complete(fixture, attempt);
    expect(seedsOf(fixture)).toEqual(expected);
    expect(new Set(expected).size).toBe(2);
  });

  it('is that of the call that the upstream failed, also after a restart of the gateway', async () => {
    const [first, second] = await uninterrupted(2);
    await using upstream = await startUpstream((response, index) => {
      response.writeHead(index === 0 ? 500 : 400, { 'content-type': 'application/json' }).end('{}');
    });
    const failing = { baseUrl: upstream.baseUrl, model: 'policy' };
    const retry = { ...quickRetry, maxRetries: 0 };
    await using fixture = await startGateway({ sampling, retry, script: () => respondWith('5') });
    const attempt = await attemptOf(fixture);
    const working = { baseUrl: fixture.model.baseUrl, model: 'policy' };
    fixture.gateway.setUpstream([failing]);
    await expect(complete(fixture, attempt)).rejects.toMatchObject({ status: 502 });
    await expect(complete(fixture, attempt)).rejects.toMatchObject({ status: 400 });
    fixture.gateway.setUpstream([working]);
    await complete(fixture, attempt);
    expect(seedsOf(fixture)).toEqual([first]);
    await expect.poll(async () => (await fixture.spans(attempt)).length).toBe(3);
    const store = storeWith(fixture.store, { close: async () => undefined });
    await using restarted = await startGateway({ sampling, store, script: () => respondWith('5') });
    await complete(restarted, attempt);
    expect(seedsOf(restarted)).toEqual([second]);
  });

  it('is that of the one that failed among concurrent calls', async () => {
    const expected = await uninterrupted(3);
    await using upstream = await startUpstream((response, index) => {
      if (index > 0) return respondJson(response, completionBody());
      response.writeHead(500, { 'content-type': 'application/json' }).end('{}');
    });
    const failing = { baseUrl: upstream.baseUrl, model: 'policy' };
    const retry = { ...quickRetry, maxRetries: 0 };
    await using fixture = await startGateway({ sampling, retry, upstream: failing });
    const attempt = await attemptOf(fixture);
    const calls = await Promise.allSettled([1, 2, 3].map(() => complete(fixture, attempt)));
    expect(calls.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    await complete(fixture, attempt);
    const [failed, ...succeeded] = upstream.requests.map(({ body }) => JSON.parse(body).seed);
    expect(succeeded.toSorted()).toEqual(expected.toSorted());
    expect(succeeded.at(-1)).toBe(failed);
  });

  /** The seeds of the last two attempts, of which the agent fails the first: after another one that was lost, if so. */
  async function seedsAfterFailure(hasLost: boolean): Promise<readonly unknown[]> {
    const clock = new ManualClock();
    const store = await openStore(':memory:', { clock });
    await using fixture = await startGateway({ sampling, store, script: () => respondWith('5') });
    const rollout = await attemptOf(fixture);
    const { rolloutId } = rollout;
    const call = async (attempt: Attempt): Promise<unknown> => await complete(fixture, { ...rollout, attempt });
    const fail = async ({ attemptId }: Attempt): Promise<Attempt> =>
      await store.updateAttempt(rolloutId, attemptId, { status: 'failed' });
    let { attempt } = rollout;
    if (hasLost) {
      await call(attempt);
      ({ attempt } = await store.startAttempt(rolloutId));
      await clock.advance(1);
      // Its runner was cut off for some time, and reports its end now.
      await fail(rollout.attempt);
    }
    await call(attempt);
    await fail(attempt);
    ({ attempt } = await store.startAttempt(rolloutId));
    await call(attempt);
    return seedsOf(fixture).slice(-2);
  }

  it('is not changed by a lost attempt whose failure is reported after the next one has started', async () => {
    const expected = await seedsAfterFailure(false);
    expect(await seedsAfterFailure(true)).toEqual(expected);
    expect(new Set(expected).size).toBe(2);
  });
});
