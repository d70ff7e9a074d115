import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type EndedCommand, runAgl } from './agl-command.ts';
import { ask, smallTrainer, trainSmall } from './small-trainer.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const folder = mkdtempSync(path.join(tmpdir(), 'agl-dataset-'));
/** What the agent of this run gives itself: another number for nearly every answer. */
const worthOf = (answer: string): number =>
  Number.parseInt(createHash('sha256').update(answer).digest('hex').slice(0, 6), 16);

let runId = '';
beforeAll(async () => {
  const { events } = await trainSmall(
    smallTrainer(folder, { steps: 3, agent: async (task) => worthOf(await ask(task)) }),
  );
  runId = events.find((event) => event.type === 'started')?.runId ?? '';
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const message = z.object({ role: z.string(), content: z.string() });

function dataset(...flags: string[]): Promise<EndedCommand> {
  const store = `sqlite:${path.join(folder, 'agl.db')}`;
  return runAgl(['dataset', '--run', runId, '--store', store, ...flags], { cwd: folder });
}

function linesOf<TLine>(schema: z.ZodType<TLine>, file: string): readonly TLine[] {
  const lines = readFileSync(path.join(folder, file), 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => schema.parse(JSON.parse(line)));
}

test('the best rollout of each task becomes a line to imitate, however often the task came round', async () => {
  const { code, stderr } = await dataset('--best', '1', '--out', 'good.jsonl');
  expect([code, stderr]).toEqual([0, expect.stringContaining('Wrote 8 examples of 24 rollouts to good.jsonl.')]);
  const lines = linesOf(z.object({ messages: z.tuple([message, message]) }), 'good.jsonl');
  expect(lines.map(({ messages }) => messages.map(({ role }) => role))).toEqual(
    Array.from({ length: 8 }, () => ['user', 'assistant']),
  );
  expect(new Set(lines.map(({ messages: [asked] }) => asked.content)).size).toBe(8);
});

test('a better and a worse answer to the same messages become a line of preference', async () => {
  expect((await dataset('--format', 'preference', '--out', 'pairs.jsonl')).code).toBe(0);
  const line = z.object({
    input: z.object({ messages: z.array(message) }),
    preferred_output: z.tuple([message]),
    non_preferred_output: z.tuple([message]),
  });
  const lines = linesOf(line, 'pairs.jsonl');
  expect(lines.length).toBeGreaterThan(0);
  for (const {
    preferred_output: [better],
    non_preferred_output: [worse],
  } of lines)
    expect(worthOf(better.content)).toBeGreaterThan(worthOf(worse.content));
});

test('a flag of the other format is refused, and a run that is not there named', async () => {
  const { code, stderr } = await dataset('--format', 'preference', '--best', '1');
  expect(code).toBe(2);
  expect(stderr).toContain('--best has no meaning for --format preference');
  const missing = await dataset('--run', 'run-nowhere');
  expect(missing.stderr).toContain('run-nowhere');
  expect(missing.code).not.toBe(0);
});
