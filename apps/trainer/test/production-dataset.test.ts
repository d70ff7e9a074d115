import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject } from '@agentlightning/core';
import { aSpan } from '@agentlightning/core/testing';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';

vi.setConfig({ testTimeout: 120_000 });

const day = 86_400_000;
let folder: string;
let store: SqlStore;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-production-'));
  store = await openStore(`sqlite:${path.join(folder, 'agl.db')}`);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Call {
  readonly id: string;
  readonly question: string;
  readonly answer: string;
  readonly user?: string;
  readonly ageMs?: number;
}

/** Records the trace of one call, as an adapter without a gateway records it. */
async function record({ id, question, answer, user = id, ageMs = 0 }: Call): Promise<void> {
  const times = { startTimeMs: Date.now() - ageMs, endTimeMs: Date.now() - ageMs };
  const ids = { rolloutId: id, attemptId: `at-${id}`, ...times };
  const message = (role: string, content: string): JsonObject => ({ role, parts: [{ type: 'text', content }] });
  const attributes = {
    'agentlightning.step.kind': 'model-call',
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': JSON.stringify([message('system', 'Be brief.'), message('user', question)]),
    'gen_ai.output.messages': JSON.stringify([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Hm.' },
          { type: 'text', content: answer },
        ],
      },
    ]),
  };
  await store.recordTraces('support', [
    aSpan({ ...ids, spanId: `c-${id}`, parentId: `r-${id}`, attributes }),
    aSpan({ ...ids, spanId: `r-${id}`, attributes: { 'user.id': user } }),
  ]);
}

async function dataset(...flags: string[]): Promise<string> {
  const at = `sqlite:${path.join(folder, 'agl.db')}`;
  const { code, stderr } = await runAgl(['dataset', '--from', 'support', '--store', at, ...flags], { cwd: folder });
  expect([code, stderr]).toEqual([0, expect.stringContaining('Wrote')]);
  return stderr;
}

const textOf = (file: string): string => readFileSync(path.join(folder, file), 'utf8');
const linesOf = (file: string): readonly JsonObject[] =>
  textOf(file)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const system = { role: 'system', content: 'Be brief.' };

test('scores, reviews and corrections decide which traces become lines, and only fields of the format are in them', async () => {
  await record({ id: 'good', question: 'A?', answer: 'a' });
  await record({ id: 'again', question: 'A?', answer: 'a' });
  await record({ id: 'bad', question: 'B?', answer: 'b' });
  await record({ id: 'corrected', question: 'C?', answer: 'c' });
  await record({ id: 'reviewed', question: 'D?', answer: 'd' });
  await record({ id: 'unjudged', question: 'E?', answer: 'e' });
  await record({ id: 'old', question: 'F?', answer: 'f', ageMs: 8 * day });
  for (const rolloutId of ['good', 'again', 'reviewed', 'old']) await store.recordFeedback({ rolloutId, score: 0.9 });
  await store.recordFeedback({ rolloutId: 'bad', label: 'bad', source: 'user' });
  await store.recordFeedback({ rolloutId: 'corrected', label: 'bad', correction: 'C!', source: 'user' });
  await store.recordFeedback({ rolloutId: 'reviewed', label: 'bad', source: 'reviewer' });
  const summary = await dataset('--since', '7d', '--min-score', '0.8', '--out', 'train.jsonl');
  expect(summary).toContain('Wrote 2 examples of 6 traces; 1 are repeated');
  const [first, second] = linesOf('train.jsonl');
  expect([first, second]).toEqual([
    { messages: [system, { role: 'user', content: 'A?' }, { role: 'assistant', content: 'a' }] },
    { messages: [system, { role: 'user', content: 'C?' }, { role: 'assistant', content: 'C!' }] },
  ]);
  const manifest = JSON.parse(textOf('train.jsonl.manifest.json'));
  const sha256 = createHash('sha256').update(textOf('train.jsonl')).digest('hex');
  expect(manifest).toMatchObject({ deployment: 'support', minScore: 0.8, lines: 2, sha256 });
});

test('corrections and better traces of the same input become pairs, also in the form of TRL', async () => {
  await record({ id: 'p1', question: 'A?', answer: 'good', user: 'u' });
  await record({ id: 'p2', question: 'A?', answer: 'poor', user: 'u' });
  await record({ id: 'p3', question: 'B?', answer: 'b' });
  await store.recordFeedback({ rolloutId: 'p1', score: 1 });
  await store.recordFeedback({ rolloutId: 'p2', score: 0 });
  await store.recordFeedback({ rolloutId: 'p3', correction: 'B!' });
  const prompts = { a: [system, { role: 'user', content: 'A?' }], b: [system, { role: 'user', content: 'B?' }] };
  const reply = (content: string): JsonObject[] => [{ role: 'assistant', content }];
  await dataset('--format', 'preference', '--out', 'pairs.jsonl');
  expect(linesOf('pairs.jsonl')).toEqual([
    { input: { messages: prompts.b }, preferred_output: reply('B!'), non_preferred_output: reply('b') },
    { input: { messages: prompts.a }, preferred_output: reply('good'), non_preferred_output: reply('poor') },
  ]);
  await dataset('--format', 'preference', '--style', 'trl', '--out', 'trl.jsonl');
  expect(linesOf('trl.jsonl')).toEqual([
    { prompt: prompts.b, chosen: reply('B!'), rejected: reply('b') },
    { prompt: prompts.a, chosen: reply('good'), rejected: reply('poor') },
  ]);
});

test('no user and no prompt is in both the training and the test file', async () => {
  for (let index = 0; index < 40; index += 1) {
    // Every tenth question is asked by several users.
    const question = index % 10 === 0 ? 'The common one?' : `Question ${index}?`;
    await record({ id: `t${index}`, question, answer: 'x', user: `user-${index % 8}` });
  }
  await dataset('--format', 'tasks', '--test-share', '0.4', '--out', 'train.jsonl', '--test-out', 'test.jsonl');
  const questions = (file: string): string[] => linesOf(file).map(({ input }) => String(input));
  const [train, held] = [questions('train.jsonl'), questions('test.jsonl')];
  expect([train.length > 0, held.length > 0, train.length + held.length]).toEqual([true, true, 37]);
  expect(held.filter((question) => train.includes(question))).toEqual([]);
});
