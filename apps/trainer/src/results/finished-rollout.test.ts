import { AgentLightningError } from '@agentlightning/core';
import { aModelCallSpan } from '@agentlightning/core/testing';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readFinishedRollouts } from './finished-rollout.ts';

let store: SqlStore;
beforeEach(async () => {
  store = await openStore(':memory:');
});
afterEach(() => store.close());

test.each([
  ['UPSTREAM_FAILED', 'infrastructure'],
  ['TIMEOUT', 'infrastructure'],
  ['UNREACHABLE', 'infrastructure'],
  ['VALIDATION', 'agent'],
] as const)('a failed rollout with a model call that ended with %s failed by %s', async (code, failure) => {
  await store.enqueueRollouts([{ rolloutId: 'ro-1', input: null }]);
  const [claimed] = await store.claimRollouts({ workerId: 'runner' });
  if (claimed === undefined) return expect.unreachable();
  const { attemptId } = claimed.attempt;
  const untrainableReason = new AgentLightningError({ code, message: 'the model call failed' }).message;
  await store.appendSpans([aModelCallSpan({ attemptId, isTrainable: false, untrainableReason })]);
  await store.updateAttempt('ro-1', attemptId, { status: 'failed' });
  expect(await readFinishedRollouts(store, [await store.getRollout('ro-1')])).toMatchObject([{ failure }]);
});
