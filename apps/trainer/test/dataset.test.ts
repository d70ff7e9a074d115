import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Feedback, Judgement } from '@agentlightning/core/spans';
import type { FoundRollout } from '@agentlightning/core/store';
import { openStore } from '@agentlightning/store';
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

test('with --from annotations, labels and preferences of people decide', async () => {
  const store = await openStore(`sqlite:${path.join(folder, 'agl.db')}`);
  const { items } = await store.searchRollouts({ runId, modeIn: ['train'], statusIn: ['succeeded'], sortBy: 'reward' });
  const annotate = ({ rollout }: FoundRollout, judgement: Judgement): Promise<Feedback> =>
    store.recordFeedback({ ...judgement, rolloutId: rollout.rolloutId, source: 'reviewer' });
  // The opposite of the rewards: the lowest is good, the others of its group are worse.
  const groupOf = ({ rollout }: FoundRollout): string => String(rollout.metadata?.['group_id']);
  const groupIds = [...new Set(items.map(groupOf))];
  for (const groupId of groupIds) {
    const [worst, ...others] = items.filter((found) => groupOf(found) === groupId).toReversed();
    if (worst === undefined) continue;
    await annotate(worst, { label: 'good' });
    for (const { rollout } of others) await annotate(worst, { preferredOver: rollout.rolloutId });
  }
  await store.close();
  const from = ['--from', 'annotations'];
  expect((await dataset(...from, '--out', 'liked.jsonl')).code).toBe(0);
  expect(linesOf(z.object({ messages: z.array(message) }), 'liked.jsonl')).toHaveLength(groupIds.length);
  expect((await dataset(...from, '--format', 'preference', '--out', 'preferred.jsonl')).code).toBe(0);
  const line = z.object({ preferred_output: z.tuple([message]), non_preferred_output: z.tuple([message]) });
  const lines = linesOf(line, 'preferred.jsonl');
  expect(lines.length).toBeGreaterThan(0);
  for (const {
    preferred_output: [better],
    non_preferred_output: [worse],
  } of lines)
    expect(worthOf(better.content)).toBeLessThan(worthOf(worse.content));
  expect((await dataset(...from, '--min-reward', '1')).stderr).toContain('--min-reward has no meaning');
});

test('a flag of the other format is refused, and a run that is not there named', async () => {
  const { code, stderr } = await dataset('--format', 'preference', '--best', '1');
  expect(code).toBe(2);
  expect(stderr).toContain('--best has no effect with --format preference');
  const missing = await dataset('--run', 'run-nowhere');
  expect(missing.stderr).toContain('run-nowhere');
  expect(missing.code).not.toBe(0);
});
