import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { currentRollout } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { ScriptedModel } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { afterAll, expect, test } from 'vitest';
import { replayDemonstration } from '../src/index.ts';
import { ask, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'agl-demonstrations-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A few-shot example, which is not imitated, and the answer to the task. */
const demonstrate = ({ question }: SmallTask): Promise<number> =>
  replayDemonstration({
    messages: [
      { role: 'user', content: 'Which?' },
      { role: 'assistant', content: 'none', weight: 0 },
      { role: 'user', content: question },
      { role: 'assistant', content: 'yes' },
    ],
  });

test('sft imitates demonstrations: those messages that count are model calls with their token ids', async () => {
  const trainer = smallTrainer(folder, {
    agent: (task) =>
      currentRollout()?.mode === 'train' ? demonstrate(task) : ask(task).then((answer) => (answer === 'yes' ? 1 : 0)),
    algorithm: { type: 'sft', learningRate: 0.01 },
    sampling: { temperature: 1, maxTokens: 4 },
    steps: 12,
    tasksPerStep: 8,
    evaluation: { maxMissingShare: 1 },
  });
  const { events, error } = await trainSmall(trainer);
  expect(error).toBeNull();
  const finished = events.findLast((event) => event.type === 'finished');
  expect(finished?.summary.before.reward).toBe(0);
  expect(finished?.summary.after.reward).toBe(1);

  const store = await openStore(`sqlite:${path.join(folder, 'agl.db')}`);
  const { items: rollouts } = await store.queryRollouts({ modeIn: ['train'], limit: 1 });
  const { items: spans } = await store.querySpans({ rolloutId: rollouts[0]?.rolloutId ?? '' });
  await store.close();
  const calls = spans.flatMap((span) => modelCallFromSpan(span) ?? []);
  expect(calls.map(({ choices }) => choices.map(({ responseTokenIds }) => responseTokenIds))).toEqual([
    [[...Buffer.from('yes'), 256]],
  ]);
});

test('a model that ignores the demonstrated message fails the rollout', async () => {
  await using model = await ScriptedModel.start(() => ({ type: 'response', content: 'no' }));
  const report = await smallTrainer(folder, { agent: demonstrate }).dev({
    endpoint: { baseUrl: model.baseUrl, model: 'any' },
    tasks: 1,
  });
  expect(report.rollouts[0]?.problems.join()).toContain('did not return the message of a demonstration');
});

test('a demonstration outside of a rollout is an error', async () => {
  await expect(demonstrate({ question: 'A?', index: 0 })).rejects.toMatchObject({ code: 'OUTSIDE_ROLLOUT' });
});
