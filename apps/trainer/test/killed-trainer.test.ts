import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AglProcess, stepOf, summaryOf } from './agl-process.ts';
import { RunFolder, smallSteps } from './run-folder.ts';
import { withStore } from './with-store.ts';

const sparseConfig = path.resolve(import.meta.dirname, 'fixtures/sparse.config.ts');
const selfKillingConfig = path.resolve(import.meta.dirname, 'fixtures/self-killing.config.ts');

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

describe('a run whose trainer, with store and gateway, is killed', () => {
  test('while it collects rollouts resumes from the last finished step', { tags: ['long'] }, async () => {
    await using first = folder.train();
    const runId = String((await first.event('started'))['runId']);
    await first.event('stepped', (event) => stepOf(event) === 2);
    await first.kill();
    const finishedBefore = await folder.withStore(async (store) => (await store.queryMetrics(runId)).total);
    expect(finishedBefore).toBeGreaterThanOrEqual(2);
    expect(finishedBefore).toBeLessThan(smallSteps);
    const stepsDone = await folder.resumeAndFinish(runId);
    expect(stepsDone).toEqual(
      Array.from({ length: smallSteps - finishedBefore }, (_, index) => finishedBefore + 1 + index),
    );
    await folder.expectWholeRun(runId);
  });

  test('before the first step is finished begins that step again', { tags: ['long'] }, async () => {
    await using first = folder.train();
    const runId = String((await first.event('started'))['runId']);
    await first.event('evaluated');
    await first.kill();
    expect(await folder.resumeAndFinish(runId)).toEqual([1, 2, 3, 4]);
    await folder.expectWholeRun(runId);
  });

  test('between saving a step and recording it does that step again', { tags: ['long'] }, async () => {
    await using first = folder.train();
    const runId = String((await first.event('started'))['runId']);
    await first.event('checkpointed', (event) => stepOf(event) === 2);
    await first.kill();
    expect((await folder.resumeAndFinish(runId)).at(-1)).toBe(smallSteps);
    await folder.expectWholeRun(runId);
  });

  test('beyond its last checkpoint does the steps since then again, with the rollouts that are there', {
    tags: ['long'],
  }, async () => {
    await using first = folder.trainFile(sparseConfig);
    const runId = String((await first.event('started'))['runId']);
    const third = summaryOf(await first.event('stepped', (event) => stepOf(event) === 3));
    await first.kill();
    await using resumed = folder.trainFile(sparseConfig, '--resume', runId);
    const again = summaryOf(await resumed.event('stepped'));
    // The same rollouts and the same weights give the same step.
    expect([again['step'], again['reward'], again['entropy']]).toEqual([3, third['reward'], third['entropy']]);
    await resumed.event('finished');
    await folder.expectWholeRun(runId);
  });

  test('while it measures halfway measures again, once', { tags: ['long'] }, async () => {
    await using first = folder.trainFile(sparseConfig);
    const runId = String((await first.event('started'))['runId']);
    await first.event('stepped', (event) => stepOf(event) === 2);
    await first.kill();
    await folder.resumeAndFinish(runId, sparseConfig);
    await folder.expectWholeRun(runId);
    await folder.withStore(async (store) => {
      // The last step is evaluated too, to select the best checkpoint.
      expect((await store.getRun(runId)).state['evaluations']).toMatchObject([{ step: 2 }, { step: 4 }]);
      const { items } = await store.queryRollouts({ runId, metadata: { phase: 'during-2' } });
      expect(items.map(({ status }) => status)).toEqual(Array<string>(12).fill('succeeded'));
    });
  });

  test('while rollouts run leaves no process, and ends with the metrics of an uninterrupted run, bit for bit', async () => {
    const marker = path.join(folder.path, 'killed');
    const train = (name: string, ...flags: string[]): AglProcess => {
      const dataDir = path.join(folder.path, name);
      const args = ['train', selfKillingConfig, '--json', '--data-dir', dataDir, '--concurrency', '8', ...flags];
      return new AglProcess(args, { env: { KILL_MARKER: marker } });
    };
    await using killed = train('killed-run', '--run', 'one');
    await killed.event('started');
    const children = killed.childPids();
    expect(children.length).toBeGreaterThan(1);
    expect(await killed.exitCode()).toBeNull();
    for (const pid of children) {
      await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(/ESRCH/), { timeout: 30_000 });
    }
    const lost = await withStore(path.join(folder.path, 'killed-run'), async (store) => {
      const { items } = await store.queryRollouts({ runId: 'one', metadata: { phase: 'step-2' } });
      return items.map(({ status }) => status);
    });
    expect(new Set(lost)).toContain('running');
    await using resumed = train('killed-run', '--resume', 'one');
    await resumed.event('finished');
    await using whole = train('whole-run', '--run', 'other');
    await whole.event('finished');
    expect([...measured(killed), ...measured(resumed)]).toEqual(measured(whole));
  });
});

/** What a process measured, without durations. */
function measured({ events }: AglProcess): readonly unknown[] {
  return events.flatMap((event): readonly unknown[] => {
    if (event.type === 'evaluated') return [{ ...event }];
    if (event.type !== 'stepped') return [];
    const { step, reward, entropy, metrics } = summaryOf(event);
    const entries = Object.entries(metrics as object).filter(([name]) => !name.startsWith('time/'));
    return [{ step, reward, entropy, metrics: entries }];
  });
}

test('a run is trained by one process, and is resumed after Ctrl+C as its message says', async () => {
  await using first = folder.train('--steps', '1000');
  const runId = String((await first.event('started'))['runId']);
  await using second = folder.train('--resume', runId);
  expect(await second.exitCode()).toBe(2);
  expect(second.stderr).toMatch(/CONFLICT.*is being trained by process \d+/);
  const eventsThen = first.events.length;
  await vi.waitFor(() => expect(first.events.length).toBeGreaterThan(eventsThen), { timeout: 60_000 });
  await first.event('stepped');
  first.interrupt();
  expect(await first.exitCode()).toBe(130);
  expect(first.stderr).toContain(`--steps 1000 --resume ${runId}`);
  expect(first.events.at(-1)).toMatchObject({ type: 'failed', code: 'CANCELLED', runId: runId });
  expect((await folder.withStore((store) => store.getRun(runId))).status).toBe('stopped');
  const lastStep = first.events.filter(({ type }) => type === 'stepped').length;
  await using resumed = folder.train('--steps', String(lastStep + 1), '--resume', runId);
  await resumed.event('finished');
  expect(resumed.events.filter(({ type }) => type === 'stepped').map(stepOf)).toEqual([lastStep + 1]);
});
