import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxBackoffMs, planJobs, type RunnerJob } from './job-plan.ts';

const options = { name: 'agl', maxJobs: 3, rolloutsPerJob: 4 };
const idle = { queued: 0, running: 0 };

function job(name: string, state: RunnerJob['state'] = 'active', endMs: number | null = null): RunnerJob {
  return { name, state, endMs };
}

test('a Job is created for each batch, at most as many as allowed', () => {
  const created = (queued: number, running: number, jobs: readonly RunnerJob[] = []): readonly string[] =>
    planJobs(options, { jobs, queue: { queued, running }, nowMs: 0 }).create;
  expect(created(0, 0)).toEqual([]);
  expect(created(5, 0)).toEqual(['agl-1', 'agl-2']);
  expect(created(50, 0)).toEqual(['agl-1', 'agl-2', 'agl-3']);
  expect(created(50, 8, [job('agl-7'), job('agl-8')])).toEqual(['agl-9']);
  // Another runner runs them.
  expect(created(0, 40)).toEqual([]);
  expect(created(1, 40)).toEqual(['agl-1']);
  // The Jobs that run have taken their batches.
  expect(created(4, 8, [job('agl-1'), job('agl-2')])).toEqual(['agl-3']);
});

test('failures since the last success double the backoff, up to five minutes', () => {
  const failed = (...ends: readonly number[]): readonly RunnerJob[] =>
    ends.map((endMs, index) => job(`agl-${index + 1}`, 'failed', endMs));
  const plan = (jobs: readonly RunnerJob[], nowMs: number) =>
    planJobs(options, { jobs, queue: { queued: 1, running: 0 }, nowMs });
  expect(plan(failed(1000), 10_999)).toEqual({ create: [], failures: 1, backoffUntilMs: 11_000 });
  expect(plan(failed(1000), 11_000).create).toEqual(['agl-2']);
  expect(plan(failed(1000, 5000), 0).backoffUntilMs).toBe(25_000);
  expect(plan(failed(...Array.from({ length: 40 }, () => 1000)), 0).backoffUntilMs).toBe(1000 + maxBackoffMs);
  expect(plan([...failed(1000), job('agl-2', 'succeeded', 2000)], 2000)).toMatchObject({
    failures: 0,
    create: ['agl-3'],
  });
});

const jobs = fc.uniqueArray(
  fc.record({
    number: fc.integer({ min: 1, max: 60 }),
    state: fc.constantFrom('active' as const, 'succeeded' as const, 'failed' as const),
    endMs: fc.integer({ min: 0, max: 1_000_000 }),
  }),
  { selector: ({ number }) => number, maxLength: 20 },
);

const queues = fc.record({ queued: fc.nat(100), running: fc.nat(100) });

test('at no time are there more Jobs than allowed or batches, and a name is new', () => {
  fc.assert(
    fc.property(jobs, queues, fc.nat(2_000_000), (given, queue, nowMs) => {
      const existing = given.map(({ number, state, endMs }) =>
        job(`agl-${number}`, state, state === 'active' ? null : endMs),
      );
      const plan = planJobs(options, { jobs: existing, queue, nowMs });
      const active = existing.filter(({ state }) => state === 'active').length;
      const limit = Math.min(options.maxJobs, Math.ceil((queue.queued + queue.running) / options.rolloutsPerJob));
      expect(active + plan.create.length).toBeLessThanOrEqual(Math.max(active, limit));
      expect(plan.create.length).toBeLessThanOrEqual(Math.ceil(queue.queued / options.rolloutsPerJob));
      expect(new Set([...existing.map(({ name }) => name), ...plan.create]).size).toBe(
        existing.length + plan.create.length,
      );
      if (plan.backoffUntilMs !== null && nowMs < plan.backoffUntilMs) expect(plan.create).toEqual([]);
      // The same state has the same names.
      expect(planJobs(options, { jobs: existing.toReversed(), queue, nowMs }).create).toEqual(plan.create);
    }),
  );
});

test('Jobs of other names do not count', () => {
  expect(
    planJobs(options, { jobs: [job('agl-x-9', 'succeeded', 1)], queue: { ...idle, queued: 1 }, nowMs: 9 }).create,
  ).toEqual(['agl-1']);
});
