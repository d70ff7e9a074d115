import type { AttemptStatus, Rollout, RolloutConfig, RolloutStatus } from '@agentlightning/core';
import { AgentLightningError } from '@agentlightning/core';
import { aSpan, type ManualClock } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { expect } from 'vitest';
import { expireAttempts } from '../../src/operations/attempts/expire-attempts.ts';
import type { TransactionRunner } from '../../src/sql/operation-runner.ts';
import { readText } from '../../src/sql/row-value.ts';
import type { SqlStore } from '../../src/sql-store.ts';
import { modelMaxLostClaims, type Outcome, type StoreModel } from './store-model.ts';

/** The real store, and what the commands need beside it. */
export interface RealStore {
  readonly store: SqlStore;
  readonly runner: TransactionRunner;
  readonly clock: ManualClock;
  /** The ids of the rollouts, in the order in which they were enqueued. */
  readonly rolloutIds: string[];
}

type StoreCommand = fc.AsyncCommand<StoreModel, RealStore>;

const attemptStatuses: AttemptStatus[] = ['preparing', 'running', 'succeeded', 'failed', 'unresponsive', 'timeout'];
const rolloutStatuses: RolloutStatus[] = [
  'queuing',
  'preparing',
  'running',
  'succeeded',
  'failed',
  'requeuing',
  'cancelled',
];

const configs: fc.Arbitrary<RolloutConfig> = fc.record({
  timeoutMs: fc.constantFrom(null, 5000, 100_000),
  unresponsiveMs: fc.constantFrom(null, 2000, 90_000),
  maxAttempts: fc.integer({ min: 1, max: 3 }),
  retryCondition: fc.subarray<AttemptStatus>(['failed', 'timeout', 'unresponsive']),
});

const indexes = fc.nat({ max: 3 });

/** Everything that can be done to rollouts. */
export const storeCommands: readonly fc.Arbitrary<StoreCommand>[] = [
  configs.map((config) =>
    command(
      `enqueue ${JSON.stringify(config)}`,
      (model) => {
        model.enqueue(config);
        return 'done';
      },
      async ({ store, rolloutIds }) => {
        const [rollout] = await store.enqueueRollouts([{ input: rolloutIds.length, config }]);
        rolloutIds.push(rollout?.rolloutId ?? '');
      },
    ),
  ),
  fc.constant(
    command(
      'claim',
      (model) => `claimed ${model.claim()}`,
      async ({ store, rolloutIds }) => {
        const [claimed] = await store.claimRollouts();
        return `claimed ${claimed === undefined ? null : rolloutIds.indexOf(claimed.rolloutId)}`;
      },
    ),
  ),
  fc.tuple(indexes, indexes, fc.constantFrom(...attemptStatuses)).map(([index, attempt, status]) =>
    command(
      `attempt ${index}.${attempt} becomes ${status}`,
      (model) => model.updateAttempt(index, attempt, status),
      async (real) => {
        await real.store.updateAttempt(rolloutId(real, index), await attemptId(real, index, attempt), { status });
      },
    ),
  ),
  fc.tuple(indexes, fc.constantFrom(...rolloutStatuses)).map(([index, status]) =>
    command(
      `rollout ${index} becomes ${status}`,
      (model) => model.updateRollout(index, status),
      async (real) => {
        await real.store.updateRollout(rolloutId(real, index), { status });
      },
    ),
  ),
  fc.tuple(indexes, indexes).map(([index, attempt]) =>
    command(
      `span for ${index}.${attempt}`,
      (model) => model.appendSpan(index, attempt),
      async (real) => {
        const ids = { rolloutId: rolloutId(real, index), attemptId: await attemptId(real, index, attempt) };
        await real.store.appendSpans([aSpan(ids)]);
      },
    ),
  ),
  indexes.map((index) =>
    command(
      `another attempt of ${index}`,
      (model) => model.startAttempt(index),
      async (real) => {
        await real.store.startAttempt(rolloutId(real, index));
      },
    ),
  ),
  indexes.map((index) =>
    command(
      `rollout ${index} is deleted`,
      (model) => model.delete(index),
      async (real) => {
        await real.store.deleteRollouts([rolloutId(real, index)]);
      },
    ),
  ),
  fc.constantFrom(0, 2500, 60_000).map((olderThanMs) =>
    command(
      `what is older than ${olderThanMs} ms is deleted`,
      (model) => `deleted ${model.retain(olderThanMs)}`,
      async ({ store }) => `deleted ${(await store.applyRetention({ olderThanMs })).rollouts}`,
    ),
  ),
  fc.constantFrom(500, 3000, 61_000, 120_000).map((ms) =>
    command(
      `${ms} ms pass`,
      (model) => {
        model.pass(ms);
        return 'done';
      },
      async ({ clock, runner }) => {
        await clock.advance(ms);
        await runner.write((context) =>
          expireAttempts(context, {
            maxLostClaims: modelMaxLostClaims,
            seen: { seenMs: context.nowMs, resumedMs: null },
          }),
        );
      },
    ),
  ),
];

/** A command that must come to the same in the model and in the store, and leave both in the same state. */
function command(
  name: string,
  inModel: (model: StoreModel) => Outcome | string,
  inStore: (real: RealStore) => Promise<unknown>,
): StoreCommand {
  return {
    check: () => true,
    run: async (model, real) => {
      const expected = inModel(model);
      expect(await outcomeOf(() => inStore(real))).toBe(expected);
      expect(await stateOf(real)).toEqual(expectedState(model));
    },
    toString: () => name,
  };
}

async function outcomeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    const outcome = await work();
    return typeof outcome === 'string' ? outcome : 'done';
  } catch (error) {
    if (AgentLightningError.isInstance(error)) return error.code;
    throw error;
  }
}

async function stateOf(real: RealStore): Promise<unknown> {
  const rollouts = [];
  for (const id of real.rolloutIds) {
    const rollout = await findRollout(real, id);
    if (rollout === null) {
      rollouts.push(null);
      continue;
    }
    const { status, endTimeMs } = rollout;
    const { items } = await real.store.queryAttempts(id);
    const attempts = items.map((attempt) => ({ status: attempt.status, isEnded: attempt.endTimeMs !== null }));
    rollouts.push({ status, isEnded: endTimeMs !== null, attempts });
  }
  const queue = await real.runner.read((context) => context.db.all('SELECT rollout_id FROM queue ORDER BY position'));
  return { rollouts, queue: queue.map((row) => real.rolloutIds.indexOf(readText(row, 'rollout_id'))) };
}

/** A rollout; null when it was deleted. */
async function findRollout(real: RealStore, id: string): Promise<Rollout | null> {
  const { items } = await real.store.queryRollouts({ rolloutIdIn: [id] });
  return items[0] ?? null;
}

function expectedState(model: StoreModel): unknown {
  const isOver = (status: string): boolean => ['succeeded', 'failed', 'cancelled'].includes(status);
  const isOpen = (status: string): boolean => ['preparing', 'running'].includes(status);
  return {
    rollouts: model.rollouts.map((rollout) => {
      if (rollout === null) return null;
      const { status, attempts } = rollout;
      const ends = attempts.map((attempt) => ({ status: attempt.status, isEnded: !isOpen(attempt.status) }));
      return { status, isEnded: isOver(status), attempts: ends };
    }),
    queue: model.queue,
  };
}

function rolloutId(real: RealStore, index: number): string {
  return real.rolloutIds[index] ?? 'ro-unknown';
}

async function attemptId(real: RealStore, index: number, attempt: number): Promise<string> {
  const { items } = await real.store.queryAttempts(rolloutId(real, index));
  return items[attempt]?.attemptId ?? 'at-unknown';
}
