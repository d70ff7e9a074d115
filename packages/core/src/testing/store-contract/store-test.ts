import { assert } from 'vitest';
import type { AttemptedRollout, EnqueueRolloutRequest, Rollout } from '../../store/rollout.ts';
import type { Store } from '../../store/store.ts';
import type { ManualClock } from '../manual-clock.ts';

/** Fixture of a contract test: an empty store and its clock. */
export interface StoreFixture {
  readonly store: Store;
  readonly clock: ManualClock;
}

/** Declares a contract test. */
export type StoreTest = (name: string, body: (fixture: StoreFixture) => Promise<void>) => void;

/** Enqueues one rollout. */
export async function enqueueOne(store: Store, request: Partial<EnqueueRolloutRequest> = {}): Promise<Rollout> {
  const [rollout] = await store.enqueueRollouts([{ input: { question: 'What is 6 times 7?' }, ...request }]);
  assert(rollout !== undefined, 'the store enqueued nothing');
  return rollout;
}

/** Enqueues one rollout and claims it. */
export async function claimOne(
  store: Store,
  request: Partial<EnqueueRolloutRequest> = {},
  workerId: string | null = null,
): Promise<AttemptedRollout> {
  const rollout = await enqueueOne(store, request);
  return claimNext(store, rollout.rolloutId, workerId);
}

/** Claims the next rollout of the queue, which must be the given one. */
export async function claimNext(
  store: Store,
  rolloutId: string,
  workerId: string | null = null,
): Promise<AttemptedRollout> {
  const [claimed] = await store.claimRollouts({ workerId });
  assert(claimed?.rolloutId === rolloutId, `the store gave ${claimed?.rolloutId}, not ${rolloutId}`);
  return claimed;
}

/** Current status of a rollout. */
export async function statusOf(store: Store, rolloutId: string): Promise<Rollout['status']> {
  return (await store.getRollout(rolloutId)).status;
}
