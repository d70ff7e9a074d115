import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TrainConfig, Trainer } from '@agentlightning/trainer';
import { expect, onTestFinished, test } from 'vitest';
import { traceOutlines } from './trace-outlines.ts';

/** The result that a training must have. */
export interface ExpectedTraining {
  /** The folder of the example, whose `tasks/` has `train.jsonl` and `test.jsonl`. */
  readonly folder: string;
  /** Settings of a shorter training. @default those of the example */
  readonly changes?: Pick<TrainConfig<unknown>, 'steps' | 'tasksPerStep'>;
  /** Upper limit of the held-out reward before training. */
  readonly rewardBefore: number;
  /** Traces of rollouts, as {@link traceOutlines} writes them. */
  readonly traces: readonly string[];
  /** Time limit in milliseconds: about ten times the duration on an idle machine. @default 600,000 */
  readonly timeoutMs?: number;
}

/** The minimum gain of the held-out reward. */
const gain = 0.08;

/** Defines the test that a training raises the held-out reward and records the expected traces. */
export function testTraining<TTask>(config: TrainConfig<TTask>, expected: ExpectedTraining): void {
  const { folder, changes = {}, rewardBefore, traces, timeoutMs = 600_000 } = expected;
  const taskFile = (name: string): string => path.join(folder, `tasks/${name}.jsonl`);

  test(
    'a training raises the held-out reward, and its traces have the expected steps',
    async () => {
      const dataDir = mkdtempSync(path.join(tmpdir(), 'agl-example-'));
      onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
      const tasks = { train: taskFile('train'), test: taskFile('test') };
      const { before, after, storeUrl } = await new Trainer({
        ...config,
        ...changes,
        tasks,
        run: { ...config.run, dataDir },
      }).fit();
      expect(before.reward).toBeLessThan(rewardBefore);
      expect(after.reward).toBeGreaterThan(before.reward + gain);
      expect(await traceOutlines(storeUrl)).toEqual(expect.arrayContaining([...traces]));
    },
    timeoutMs,
  );
}
