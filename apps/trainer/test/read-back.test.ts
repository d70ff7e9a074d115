import { StoreClient } from '@agentlightning/core/store-client';
import { aModelCallSpan, aRewardSpan } from '@agentlightning/core/testing';
import { createStoreServer, openStore, type SqlStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { readFinishedRollouts } from '../src/results/finished-rollout.ts';
import { startDelayingProxy } from './delaying-proxy.ts';

const rolloutCount = 1024;
const roundTripMs = 50;

/** Finished rollouts of three model calls of about 300 tokens, and a reward. */
async function fill(store: SqlStore): Promise<void> {
  await store.enqueueRollouts(Array.from({ length: rolloutCount }, (_, index) => ({ input: { index } })));
  const tokens = Array.from({ length: 100 }, (_, index) => 1000 + index);
  const claimed = await store.claimRollouts({ limit: rolloutCount });
  const finish = async ({ rolloutId, attempt }: (typeof claimed)[number]): Promise<void> => {
    const ids = { rolloutId, attemptId: attempt.attemptId };
    const calls = [1, 2, 3].map((sequenceId) =>
      aModelCallSpan({
        ...ids,
        sequenceId,
        spanId: sequenceId.toString(16).padStart(16, '0'),
        promptTokenIds: [...tokens, ...tokens],
        responseTokenIds: tokens,
      }),
    );
    await store.appendSpans([...calls, aRewardSpan(1, { ...ids, sequenceId: 4 })]);
    await store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
  };
  // Concurrent writes share a transaction.
  await Promise.all(claimed.map(finish));
}

/** Reads all rollouts, and returns the duration in milliseconds, and the number of requests. */
async function timeReading(store: SqlStore, port: number): Promise<{ readonly ms: number; readonly requests: number }> {
  let requests = 0;
  const countingFetch: typeof fetch = (...request) => {
    requests += 1;
    return fetch(...request);
  };
  const client = new StoreClient({ baseUrl: `http://127.0.0.1:${port}`, fetch: countingFetch });
  const { items: rollouts } = await store.queryRollouts();
  const startedMs = performance.now();
  const finished = await readFinishedRollouts(client, rollouts);
  const ms = performance.now() - startedMs;
  await client.close();
  expect(finished.map(({ rollout }) => rollout.rolloutId)).toEqual(rollouts.map(({ rolloutId }) => rolloutId));
  expect(finished.every(({ spans, failure }) => spans.length === 4 && failure === null)).toBe(true);
  return { ms, requests };
}

test('1,024 rollouts are read back with a few requests, which a round trip of 50 ms hardly delays', {
  timeout: 180_000,
}, async () => {
  const store = await openStore(':memory:');
  await fill(store);
  const server = await createStoreServer({ store, port: 0 });
  await using proxy = await startDelayingProxy(server.port, roundTripMs);
  const direct = await timeReading(store, server.port);
  const delayed = await timeReading(store, proxy.port);
  process.stderr.write(
    `read back: ${direct.ms.toFixed(0)} ms direct, ${delayed.ms.toFixed(0)} ms delayed, ${delayed.requests} requests\n`,
  );
  expect(delayed.requests).toBeLessThanOrEqual(64);
  // The difference of the two varies with the load of the machine by more than the round trips.
  expect(delayed.ms).toBeLessThan(2000 + 2 * direct.ms);
  await server.close();
  await store.close();
});
