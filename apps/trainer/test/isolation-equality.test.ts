// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AglProcess, summaryOf } from './agl-process.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-isolation-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The rewards, metrics and evaluations of two steps of an example. Run ids may differ, durations do. */
async function train(example: string, name: string, flags: readonly string[]): Promise<readonly unknown[]> {
  const config = path.resolve(import.meta.dirname, '../../../examples', example, 'agl.config.ts');
  const args = ['train', config, '--json', '--steps', '2', '--seed', '5', '--run', name];
  await using agl = new AglProcess([...args, '--data-dir', path.join(folder, name), ...flags]);
  expect(await agl.exitCode(), agl.stderr).toBeLessThan(2);
  return agl.events.flatMap((event): readonly unknown[] => {
    if (event.type === 'evaluated') return [{ evaluated: summaryOf(event)['reward'] }];
    if (event.type !== 'stepped') return [];
    const { reward, entropy, metrics } = summaryOf(event);
    const entries = Object.entries(metrics as object).filter(([key]) => !/^(time|runtime)\//.test(key));
    return [{ reward, entropy, metrics: Object.fromEntries(entries) }];
  });
}

test.each(['stock-clerk', 'ai-sdk-light-switch', 'langgraph-mail-room', 'openai-agents-bank-desk'])(
  '%s learns the same in worker processes as in the process of the trainer',
  async (example) => {
    const isolated = await train(example, 'isolated', ['--processes', '2']);
    expect(isolated.length).toBeGreaterThanOrEqual(4);
    expect(await train(example, 'inline', ['--in-process'])).toEqual(isolated);
  },
  600_000,
);
