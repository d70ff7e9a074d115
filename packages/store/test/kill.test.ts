import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { openStore } from '../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

const writer = join(import.meta.dirname, 'fixtures/acknowledging-writer.ts');

test('keeps everything that was acknowledged when its process is killed, again and again', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const acknowledged: string[] = [];
  for (let kill = 0; kill < 6; kill += 1) acknowledged.push(...(await writeUntilKilled(file, 20 + kill * 40)));

  const store = await openStore(file);
  expect(acknowledged.length).toBeGreaterThan(6 * 20);
  for (const line of acknowledged) {
    const [rolloutId = '', attemptId = '', spanId = ''] = JSON.parse(line) as string[];
    const { items } = await store.querySpans({ rolloutId, attemptId, spanId });
    expect(items).toMatchObject([{ sequenceId: 1, attributes: { text: 'x'.repeat(1000) } }]);
    expect(await store.getRollout(rolloutId)).toMatchObject({ status: 'running', attempt: { attemptId } });
  }
  await store.close();
}, 60_000);

/** Lets a process write until it has said so many lines, kills it, and gives back every line it said. */
async function writeUntilKilled(file: string, lineCount: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, ['--conditions=@agentlightning/source', writer, file], {
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
