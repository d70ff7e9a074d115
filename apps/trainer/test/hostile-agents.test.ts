import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Attempt } from '@agentlightning/core';
import { recordedFailure } from '@agentlightning/core/protocol';
import { attemptFailureOrigin } from '@agentlightning/core/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';
import { RunFolder } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

const hostileConfig = path.resolve(import.meta.dirname, 'fixtures/hostile.config.ts');

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** `agl train` with an agent one of whose rollouts does this to its process. */
function train(hostile: string, env: Readonly<Record<string, string>> = {}): AglProcess {
  const args = ['train', hostileConfig, '--json', '--data-dir', folder.path, '--run', 'hostile'];
  return new AglProcess(args, { env: { HOSTILE: hostile, HOSTILE_PID: path.join(folder.path, 'pid'), ...env } });
}

/** The attempts of each rollout of the first evaluation: of the hostile one, and of the others. */
async function attempts(): Promise<{ readonly hostile: readonly Attempt[]; readonly others: readonly Attempt[][] }> {
  return await folder.withStore(async (store) => {
    const { items } = await store.queryRollouts({ runId: 'hostile', metadata: { phase: 'before' } });
    const all = await Promise.all(
      items.map(async ({ rolloutId, metadata }) => ({
        isHostile: metadata?.['task_index'] === 5,
        attempts: [...(await store.queryAttempts(rolloutId)).items],
      })),
    );
    const others = all.filter(({ isHostile }) => !isHostile).map((rollout) => rollout.attempts);
    return { hostile: all.find(({ isHostile }) => isHostile)?.attempts ?? [], others };
  });
}

/** Every rollout of the evaluation has succeeded, and no attempt but the hostile one has failed. */
async function expectOneFailure(process: AglProcess): Promise<Attempt> {
  expect(await process.event('evaluated')).toMatchObject({
    phase: 'before',
    summary: { rollouts: 12, failed: 0, missing: 0 },
  });
  await process.event('finished');
  const { hostile, others } = await attempts();
  expect(others).toHaveLength(11);
  for (const [last, ...earlier] of others.map((each) => each.toReversed())) {
    expect(last?.status).toBe('succeeded');
    for (const attempt of earlier) {
      expect([attempt.status, attemptFailureOrigin(attempt)]).toEqual(['unresponsive', 'infrastructure']);
    }
  }
  expect(hostile.at(-1)?.status).toBe('succeeded');
  const [first] = hostile;
  if (first === undefined) throw new Error('the hostile rollout has no attempt');
  return first;
}

test('an agent that blocks the event loop times out, in a process that is replaced', async () => {
  await using agl = train('block');
  const attempt = await expectOneFailure(agl);
  expect([attempt.status, attemptFailureOrigin(attempt)]).toEqual(['timeout', 'agent']);
  expect(recordedFailure(attempt)?.message).toMatch(/blocked the event loop .*countForever/);
});

test('an uncaught exception fails the attempt whose timer threw it', { tags: ['long'] }, async () => {
  await using agl = train('throw');
  const attempt = await expectOneFailure(agl);
  expect([attempt.status, attemptFailureOrigin(attempt)]).toEqual(['failed', 'agent']);
  expect(recordedFailure(attempt)).toMatchObject({
    code: 'AGENT_CRASHED',
    message: expect.stringMatching(/exit code 1: Error: thrown by a timer/),
  });
  expect(attempt.metadata?.['process']).toMatchObject({
    exit_code: 1,
    stderr: expect.arrayContaining(['Error: thrown by a timer']),
  });
  expect(agl.stderr).toContain('Error: thrown by a timer');
});

test('an agent that exits fails, and the processes that it started end', async () => {
  await using agl = train('fork');
  const attempt = await expectOneFailure(agl);
  expect(recordedFailure(attempt)?.message).toMatch(/exit code 7: process.exit\(7\)/);
  const forked = Number(readFileSync(path.join(folder.path, 'pid'), 'utf8'));
  await vi.waitFor(() => expect(() => process.kill(forked, 0)).toThrow(/ESRCH/), { timeout: 30_000 });
});

test('an agent that always runs out of memory is found among the others, and fails alone', {
  tags: ['long'],
}, async () => {
  await using agl = train('memory', { HOSTILE_ALWAYS: 'yes', NODE_OPTIONS: '--max-old-space-size=120' });
  expect(await agl.event('evaluated')).toMatchObject({
    phase: 'before',
    summary: { rollouts: 12, failed: 1, missing: 0 },
  });
  await agl.event('finished');
  const { hostile, others } = await attempts();
  expect(others.map((each) => each.at(-1)?.status)).toEqual(Array<string>(11).fill('succeeded'));
  const counted = hostile.filter((attempt) => attemptFailureOrigin(attempt) === 'agent');
  expect(counted).toHaveLength(2);
  expect(counted.map((attempt) => recordedFailure(attempt)?.message).join()).toMatch(/heap|memory/i);
});

test('a process that is killed loses nothing', { tags: ['long'] }, async () => {
  await using agl = train('kill');
  const attempt = await expectOneFailure(agl);
  expect([attempt.status, attemptFailureOrigin(attempt)]).toEqual(['unresponsive', 'infrastructure']);
  expect(attempt.metadata?.['process']).toMatchObject({ signal: 'SIGKILL' });
});
