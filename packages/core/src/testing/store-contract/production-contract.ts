import { describe, expect } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import type { FeedbackInput } from '../../spans/feedback.ts';
import { findFeedback } from '../../spans/feedback.ts';
import { readProductionMetadata } from '../../spans/production-trace.ts';
import type { Span } from '../../spans/span.ts';
import { aSpan } from '../a-span.ts';
import { claimOne, type StoreTest } from './store-test.ts';

const unknownOrigin = { baseModel: null, data: null, configSha256: null, digest: null, prompts: null, reward: null };

function aVersion(run: string): JsonObject {
  return { version: `${run}@3`, kind: 'weights', run, step: 3, location: { policy: `${run}/3` }, ...unknownOrigin };
}

/** run-2 is live, run-1 was before it, and run-3 is the candidate. */
const aDeploymentState: JsonObject = {
  kind: 'deployment',
  live: 'run-2@3',
  candidate: {
    version: 'run-3@3',
    share: 0.1,
    key: 'key',
    sinceMs: 2,
    isPromotedWhenBetter: false,
    maxCostRatio: 2,
  },
  versions: ['run-4', 'run-1', 'run-2', 'run-3'].map(aVersion),
  history: ['run-4', 'run-1', 'run-2'].map((run, index, runs) => ({
    timeMs: index,
    action: 'promote',
    version: `${run}@3`,
    previous: index === 0 ? null : `${runs[index - 1]}@3`,
    by: 'ada',
    reason: '',
  })),
};

/** Traces of production and feedback. */
export function describeProduction(test: StoreTest): void {
  describe('traces of production', () => {
    test('the spans of a new trace create the deployment and a finished rollout', async ({ store, clock }) => {
      const recorded = await store.recordTraces('support', [
        aTraceSpan(clock.now(), { spanId: 'a1', attributes: root }),
      ]);
      expect(recorded).toMatchObject([{ spanId: 'a1', sequenceId: 1 }]);
      expect(await store.getRun('support')).toMatchObject({ status: 'running', state: { kind: 'deployment' } });
      const rollout = await store.getRollout('ro-1');
      expect(rollout).toMatchObject({
        runId: 'support',
        mode: 'production',
        status: 'succeeded',
        input: { question: 'How much?' },
        startTimeMs: clock.now() - 500,
        endTimeMs: clock.now() - 100,
        attempt: { attemptId: 'at-1', status: 'succeeded' },
      });
      expect(readProductionMetadata(rollout.metadata)).toEqual({
        version: 'run-1@3',
        trial: null,
        fallbackFrom: null,
        user: 'u1',
        conversation: 'c1',
      });
      expect((await store.queryRollouts({ runId: 'support', modeIn: ['production'] })).total).toBe(1);
      expect((await store.queryRollouts({ modeIn: ['train', 'val', 'test'] })).total).toBe(0);
      expect((await store.runStatistics('support')).rolloutsByStatus.succeeded).toBe(1);
    });

    test('later spans join their trace, and a resent batch changes nothing', async ({ store, clock }) => {
      const child = aTraceSpan(clock.now(), { spanId: 'a2', parentId: 'a1' });
      await store.recordTraces('support', [child]);
      expect(await store.getRollout('ro-1')).toMatchObject({ status: 'succeeded', input: null });
      const ended = aTraceSpan(clock.now(), {
        spanId: 'a1',
        attemptId: 'at-2',
        attributes: root,
        status: { code: 'ERROR', message: 'refused' },
        startTimeMs: clock.now() - 900,
      });
      const batch = [child, ended];
      expect(await store.recordTraces('support', batch)).toMatchObject([null, { spanId: 'a1', attemptId: 'at-1' }]);
      const rollout = await store.getRollout('ro-1');
      const expected = { status: 'failed', input: { question: 'How much?' }, startTimeMs: clock.now() - 900 };
      expect(rollout).toMatchObject(expected);
      expect(await store.recordTraces('support', batch)).toEqual([null, null]);
      expect(await store.getRollout('ro-1')).toEqual(rollout);
      expect((await store.querySpans({ rolloutId: 'ro-1' })).total).toBe(2);
    });

    test('times of producers in the future become the time of the store', async ({ store, clock }) => {
      const startTimeMs = clock.now() + 86_400_000;
      await store.recordTraces('support', [aTraceSpan(clock.now(), { startTimeMs, endTimeMs: startTimeMs + 5 })]);
      expect(await store.getRollout('ro-1')).toMatchObject({ startTimeMs: clock.now(), endTimeMs: clock.now() });
    });

    test('a run of another kind is not a deployment, and its rollouts are not in one', async ({ store, clock }) => {
      await store.createRun({ runId: 'run-1', name: 'training', config: {} });
      const span = aTraceSpan(clock.now());
      await expect(store.recordTraces('run-1', [span])).rejects.toMatchObject({ code: 'CONFLICT' });
      const { attempt } = await claimOne(store, { rolloutId: 'ro-1', runId: 'run-1' });
      const foreign = [aTraceSpan(clock.now(), { rolloutId: 'ro-2' }), { ...span, attemptId: attempt.attemptId }];
      await expect(store.recordTraces('support', foreign)).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(store.getRollout('ro-2')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect((await store.querySpans({ rolloutId: 'ro-1' })).total).toBe(0);
    });

    test('retention deletes old traces and keeps the deployment', async ({ store, clock }) => {
      await store.recordTraces('support', [aTraceSpan(clock.now())]);
      await clock.advance(86_400_000);
      await store.recordTraces('support', [aTraceSpan(clock.now(), { rolloutId: 'ro-2' })]);
      const policy = { olderThanMs: 3_600_000 };
      expect(await store.previewRetention(policy)).toMatchObject({ runs: 0, rollouts: 1, spans: 1 });
      expect(await store.applyRetention(policy)).toMatchObject({ runs: 0, rollouts: 1, spans: 1 });
      expect((await store.queryRollouts({ runId: 'support' })).items).toMatchObject([{ rolloutId: 'ro-2' }]);
      expect(await store.getRun('support')).toMatchObject({ status: 'running' });
    });

    test('traces of a deployment expire at an age by deployment, and such a policy deletes nothing else', async ({
      store,
      clock,
    }) => {
      await store.createRun({ runId: 'run-1', name: 'run-1', config: {} });
      await store.updateRun('run-1', { status: 'finished' });
      await store.recordTraces('support', [aTraceSpan(clock.now())]);
      await store.recordTraces('search', [aTraceSpan(clock.now(), { rolloutId: 'ro-2' })]);
      await clock.advance(86_400_000);
      const policy = { traces: { search: 3_600_000, unknown: 0 } };
      expect(await store.previewRetention(policy)).toMatchObject({ runs: 0, rollouts: 1, spans: 1 });
      expect(await store.applyRetention(policy)).toMatchObject({ runs: 0, rollouts: 1, spans: 1 });
      await expect(store.getRollout('ro-2')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const longer = { olderThanMs: 3_600_000, traces: { support: 7 * 86_400_000 } };
      expect(await store.previewRetention(longer)).toMatchObject({ runs: 1, rollouts: 0 });
      await expect(store.applyRetention({ traces: { support: -1 } })).rejects.toMatchObject({ code: 'VALIDATION' });
    });

    test('runs that are live, a candidate or restored by a rollback are not deleted, with force neither', async ({
      store,
    }) => {
      for (const runId of ['run-1', 'run-2', 'run-3', 'run-4']) {
        await store.createRun({ runId, name: runId, config: {} });
        await store.updateRun(runId, { status: 'finished' });
      }
      await store.createRun({ runId: 'support', name: 'support', config: {} });
      await store.updateRun('support', { state: aDeploymentState });
      for (const [runId, role] of [
        ['run-1', 'previous'],
        ['run-2', 'live'],
        ['run-3', 'candidate'],
      ] as const) {
        const refused = { code: 'CONFLICT', details: { runId, deployment: 'support', version: `${runId}@3`, role } };
        await expect(store.deleteRun(runId)).rejects.toMatchObject(refused);
        await expect(store.deleteRun(runId, { force: true })).rejects.toMatchObject(refused);
      }
      expect(await store.previewRetention({ keepRuns: 0 })).toMatchObject({ runs: 1, runIds: ['run-4'] });
      expect(await store.applyRetention({ keepRuns: 0 })).toMatchObject({ runs: 1 });
      await store.deleteRun('support', { force: true });
      expect(await store.applyRetention({ keepRuns: 0 })).toMatchObject({ runs: 3 });
    });

    test('nothing is deleted while the record of a deployment cannot be read', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'run-1', config: {} });
      await store.updateRun('run-1', { status: 'finished' });
      await store.createRun({ runId: 'support', name: 'support', config: {} });
      await store.updateRun('support', { state: { kind: 'deployment', live: 'run-1@3', versions: 'unknown' } });
      const refused = { code: 'CONFLICT', details: { deployment: 'support' } };
      await expect(store.deleteRun('run-1')).rejects.toMatchObject(refused);
      await expect(store.applyRetention({ keepRuns: 0 })).rejects.toMatchObject(refused);
      await store.deleteRun('support', { force: true });
      await store.deleteRun('run-1');
    });

    test('they are never in the queue', async ({ store, clock }) => {
      const invalid = { code: 'VALIDATION' };
      await expect(store.enqueueRollouts([{ input: 1, mode: 'production' }])).rejects.toMatchObject(invalid);
      await store.recordTraces('support', [aTraceSpan(clock.now())]);
      await expect(store.updateRollout('ro-1', { status: 'requeuing' })).rejects.toMatchObject(invalid);
      expect(await store.claimRollouts({ limit: 10 })).toEqual([]);
      expect(await store.getRollout('ro-1')).toMatchObject({ status: 'succeeded' });
    });
  });

  describe('feedback', () => {
    test('a score is the reward of the rollout, with its source and time', async ({ store, clock }) => {
      await store.recordTraces('support', [aTraceSpan(clock.now())]);
      const given: FeedbackInput = {
        rolloutId: 'ro-1',
        score: 0.25,
        source: 'user',
        user: 'u1',
        timeMs: clock.now() - 50,
      };
      const feedback = await store.recordFeedback({ ...given, id: 'click-7' });
      expect(feedback).toEqual({ ...given, id: 'click-7', attemptId: 'at-1' });
      expect((await store.searchRollouts({ runId: 'support' })).items).toMatchObject([{ reward: 0.25, label: null }]);
      expect(findFeedback((await store.querySpans({ rolloutId: 'ro-1' })).items)).toEqual([feedback]);
      expect(await store.queryFeedback({ runId: 'support' })).toEqual({ items: [feedback], nextCursor: null });
    });

    test('repeated feedback with the same id is recorded once', async ({ store, clock }) => {
      await store.recordTraces('support', [aTraceSpan(clock.now()), aTraceSpan(clock.now(), { rolloutId: 'ro-2' })]);
      const first = await store.recordFeedback({ rolloutId: 'ro-1', id: 'f', label: 'bad', source: 'user' });
      await clock.advance(5000);
      expect(await store.recordFeedback({ rolloutId: 'ro-1', id: 'f', label: 'good', source: 'user' })).toEqual(first);
      expect(first).toMatchObject({ label: 'bad', score: 0 });
      await store.recordFeedback({ rolloutId: 'ro-2', id: 'f', score: 1 });
      expect((await store.queryFeedback()).items).toHaveLength(2);
      expect((await store.queryFeedback({ rolloutId: 'ro-2' })).items).toMatchObject([{ score: 1, source: 'api' }]);
      expect((await store.queryFeedback({ timeFromMs: clock.now() })).items).toMatchObject([{ rolloutId: 'ro-2' }]);
    });

    test('only the label of a reviewer is the label of the rollout', async ({ store, clock }) => {
      await store.recordTraces('support', [aTraceSpan(clock.now())]);
      await store.recordFeedback({ rolloutId: 'ro-1', label: 'good', source: 'reviewer', comment: 'precise' });
      await store.recordFeedback({ rolloutId: 'ro-1', label: 'bad', source: 'user', correction: 'It is 4.' });
      expect((await store.searchRollouts()).items).toMatchObject([{ label: 'good', reward: 0 }]);
    });

    test('feedback on unknown, deleted and unfinished rollouts, and empty feedback, are refused', async ({
      store,
      clock,
    }) => {
      await store.recordTraces('support', [aTraceSpan(clock.now())]);
      await store.deleteRollouts(['ro-1']);
      const missing = { code: 'NOT_FOUND' };
      await expect(store.recordFeedback({ rolloutId: 'ro-1', score: 1 })).rejects.toMatchObject(missing);
      await expect(store.recordFeedback({ rolloutId: 'ro-9', score: 1 })).rejects.toMatchObject(missing);
      await claimOne(store, { rolloutId: 'ro-2' });
      await expect(store.recordFeedback({ rolloutId: 'ro-2', score: 1 })).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(store.recordFeedback({ rolloutId: 'ro-2' })).rejects.toMatchObject({ code: 'VALIDATION' });
      await expect(store.queryFeedback({ runId: 'none' })).rejects.toMatchObject(missing);
    });

    test('feedback from the future has the time of the store', async ({ store, clock }) => {
      await store.recordTraces('support', [aTraceSpan(clock.now())]);
      const { timeMs } = await store.recordFeedback({ rolloutId: 'ro-1', score: 1, timeMs: clock.now() + 60_000 });
      expect(timeMs).toBe(clock.now());
    });
  });
}

const root = {
  'agentlightning.operation.input': '{"question":"How much?"}',
  'agentlightning.deployment.version': 'run-1@3',
  'user.id': 'u1',
  'session.id': 'c1',
};

function aTraceSpan(nowMs: number, fields: Partial<Span> = {}): Span {
  return aSpan({ startTimeMs: nowMs - 500, endTimeMs: nowMs - 100, ...fields });
}
