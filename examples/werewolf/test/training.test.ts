// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { replayDemonstration, type StepSummary, Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GameTask } from '../agent.ts';
import config from '../agl.config.ts';
import warmUp, { conversation } from '../warm-up.config.ts';
import { playTask } from '../werewolf.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-werewolf-training-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = (name: string): string => path.resolve(import.meta.dirname, `../tasks/${name}.jsonl`);

/** Two minutes on a free machine, more on a busy one. */
const timeoutMs = 1_800_000;

/** Plays a game; the share of legal decisions, which changes sooner than the share of games won. */
async function legalShare(task: GameTask): Promise<number> {
  return (await playTask(task))['legal'] ?? 0;
}

test(
  'the warm-up teaches legal decisions, and reinforcement learning continues it on the calls of the policy only',
  async () => {
    const evaluation = { tasks: 8 };
    const warmedUp = await new Trainer({
      ...warmUp,
      agent: async (task) =>
        'system' in task ? await replayDemonstration(conversation(task)) : await legalShare(task),
      tasks: { ...warmUp.tasks, train: taskFile('demonstrations'), test: taskFile('test') },
      run: { ...warmUp.run, dataDir: folder },
      steps: 30,
      evaluation,
    }).fit({ runId: 'warm-up' });
    expect(warmedUp.after.reward).toBeGreaterThan(warmedUp.before.reward + 0.25);

    const steps: StepSummary[] = [];
    const { before } = await new Trainer({
      ...config,
      agent: legalShare,
      tasks: { ...config.tasks, train: taskFile('train'), test: taskFile('test') },
      run: { ...config.run, dataDir: folder },
      checkpoints: { from: 'warm-up@final' },
      steps: 2,
      tasksPerStep: 2,
      evaluation,
    }).fit({ onEvent: (event) => (event.type === 'stepped' ? steps.push(event.summary) : 0) });
    expect(Math.abs(before.reward - warmedUp.after.reward)).toBeLessThan(0.2);
    expect(steps).toHaveLength(2);
    const sum = (name: string): number => steps.reduce((total, { metrics }) => total + (metrics[name] ?? 0), 0);
    expect(sum('calls/untrainable/not_chosen')).toBeGreaterThan(0);
    expect(sum('rows/total')).toBe(sum('calls/total') - sum('calls/untrainable'));
    for (const { metrics } of steps) expect(metrics['optim/gradient_norm']).toBeGreaterThan(0);
  },
  timeoutMs,
);
