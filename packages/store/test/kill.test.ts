// @module-tag long
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

const writer = join(import.meta.dirname, 'fixtures/acknowledging-writer.ts');

test('keeps all acknowledged writes when its process is killed repeatedly', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const acknowledged: string[] = [];
  for (let kill = 0; kill < 6; kill += 1) acknowledged.push(...(await writeUntilKilled([file], 20 + kill * 40)));

  expect(acknowledged.length).toBeGreaterThan(6 * 20);
  const store = await openStore(file);
  const rollouts = await store.queryRollouts();
  const running = rollouts.items.filter((rollout) => rollout.status === 'running').map((rollout) => rollout.rolloutId);
  // Every recorded span has its image.
  for (let left = rollouts.items.map(({ rolloutId }) => rolloutId); left.length > 0; ) {
    const traces = await store.readTraces(left);
    for (const { attributes } of traces.flatMap(({ spans }) => spans)) expect(attributes['image']).toMatch(/,cGlj/);
    left = left.slice(traces.length);
  }
  await store.close();
  const recorded = new Set(recordedSpans(file));
  expect(acknowledged.filter((line) => !recorded.has(line))).toEqual([]);
  const isRunning = new Set(running);
  expect(acknowledged.filter((line) => !isRunning.has(JSON.parse(line)[0]))).toEqual([]);
}, 60_000);

/** What the file itself holds, as the writer says it. */
function recordedSpans(file: string): readonly string[] {
  const database = new DatabaseSync(file);
  expect(database.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' });
  const rows = database.prepare('SELECT rollout_id, attempt_id, span_id FROM spans').all();
  database.close();
  return rows.map((row) => JSON.stringify([row.rollout_id, row.attempt_id, row.span_id]));
}

/** Lets a process write until it has said so many lines, kills it, and gives back every line it said. */
async function writeUntilKilled(parameters: readonly string[], lineCount: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, ['--conditions=@agentlightning/source', writer, ...parameters], {
    stdio: ['ignore', 'pipe', 'inherit'],
  }) as ChildProcess & { readonly stdout: Readable };
  const exited = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === lineCount) child.kill('SIGKILL');
  }
  await exited;
  // The last line may have been cut off in the middle, and says nothing then.
  return lines.filter((line) => line.endsWith(']'));
}
