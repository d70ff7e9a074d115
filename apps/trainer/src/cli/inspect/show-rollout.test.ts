import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { aModelCallSpan, aSpan } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { shownRollout } from '../output/inspection-output.ts';
import { showFormats } from './show-format.ts';
import { showRollout } from './show-rollout.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agl-show-'));
});

afterEach(() => rm(folder, { recursive: true }));

/** What is shown of a rollout whose task, and whose only model call, say this. */
async function shown(words: string, attempt = 'latest'): Promise<string> {
  const place = `sqlite:${path.join(folder, 'agl.db')}`;
  const output = path.join(folder, 'shown.txt');
  const store = await openStore(place);
  const { rolloutId, attempt: begun } = await store.startRollout({ input: { task: words } });
  const request = { messages: [{ role: 'user', content: words }] };
  const { sequenceId: _, ...span } = aModelCallSpan({ rolloutId, attemptId: begun.attemptId, request });
  await store.appendSpans([span]);
  await store.close();
  await showRollout(rolloutId, { store: place, attempt, format: 'tree', output });
  return readFile(output, 'utf8');
}

test('what was said, by whomever, cannot command the terminal', async () => {
  const text = await shown('gone?\u001b[2J and \u009b31m red');
  expect(text).toContain('user      gone?\ufffd[2J and \ufffd31m red');
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

test('10,000 nested spans are shown in every format', async () => {
  const place = `sqlite:${path.join(folder, 'agl.db')}`;
  const output = path.join(folder, 'shown.txt');
  const store = await openStore(place);
  const { rolloutId, attempt } = await store.startRollout({ input: {} });
  const spans = Array.from({ length: 10_000 }, (_, index) => {
    const { sequenceId: _sequenceId, ...span } = aSpan({
      rolloutId,
      attemptId: attempt.attemptId,
      name: `level ${index}`,
    });
    return { ...span, spanId: spanIdAt(index), parentId: index === 0 ? null : spanIdAt(index - 1) };
  });
  await store.appendSpans(spans);
  await store.close();
  const flags = { store: place, attempt: 'latest', output };
  for (const format of showFormats) {
    await showRollout(rolloutId, { ...flags, format });
    expect(await readFile(output, 'utf8')).toContain('level 9999');
  }
  await showRollout(rolloutId, { ...flags, format: 'tree', json: true });
  expect(JSON.parse(await readFile(output, 'utf8')).spans).toHaveLength(10_000);
});

const spanIdAt = (index: number): string => (index + 1).toString(16).padStart(16, '0');

test('the cost of the calls is at the prices of the run, and a model without a price is named', async () => {
  const place = `sqlite:${path.join(folder, 'agl.db')}`;
  const output = path.join(folder, 'shown.txt');
  const store = await openStore(place);
  const prices = { currency: 'EUR', models: { small: { input: 1000, output: 2000 } } };
  await store.createRun({ runId: 'run-1', name: 'one', config: { prices } });
  const { rolloutId, attempt } = await store.startRollout({ input: {}, runId: 'run-1' });
  for (const [sequenceId, model] of ['small', 'other'].entries()) {
    const call = { rolloutId, attemptId: attempt.attemptId, sequenceId: sequenceId + 1, model, policyVersion: null };
    await store.appendSpans([aModelCallSpan(call)]);
  }
  await store.close();
  const flags = { store: place, attempt: 'latest', format: 'tree', output } as const;
  await showRollout(rolloutId, flags);
  expect(await readFile(output, 'utf8')).toContain(
    'cost     0.007 EUR; no price of model other (run.prices.models["other"])\n',
  );
  await showRollout(rolloutId, { ...flags, json: true });
  const { cost } = shownRollout.parse(JSON.parse(await readFile(output, 'utf8'))) as { cost: unknown };
  expect(cost).toMatchObject({ amount: expect.closeTo(0.007, 9), currency: 'EUR' });
});

test('an attempt that the rollout does not have is an error that names those it has', async () => {
  await expect(shown('hi', 'at-nope')).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringMatching(/no attempt at-nope; its attempts: #1 at-\w+ running/),
  });
});
