import { aTransition } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { seededRandom } from '../base/seeded-random.ts';
import { RowIndex } from './row-index.ts';
import { trajectoryFromTransitions } from './trajectory-from-transitions.ts';

const ids = { rolloutId: 'ro-1', attemptId: 'at-1', groupId: 'gr-1', reward: 1 };

/** Two different pairs of tokens that the index takes for the same. */
function collidingPairs(): readonly (readonly number[])[] {
  const random = seededRandom(3);
  const index = new RowIndex();
  for (let tries = 0; tries < 1_000_000; tries += 1) {
    const tokenIds = [Math.floor(random() * 150_000), Math.floor(random() * 150_000)];
    const [other] = index.find(tokenIds).candidates;
    if (other !== undefined && other.tokenIds.join() !== tokenIds.join()) return [other.tokenIds, tokenIds];
    index.add({ tokenIds, trained: [], samplingLogprobs: [], temperature: 1 });
  }
  return [];
}

test('prompts whose hash only happens to be that of a row do not continue it', () => {
  const [[first = 0, second = 0] = [], other = []] = collidingPairs();
  expect(other).toHaveLength(2);
  const { trajectory } = trajectoryFromTransitions({
    ...ids,
    transitions: [
      aTransition({ sequenceId: 1, promptTokenIds: [first], responseTokenIds: [second] }),
      aTransition({ sequenceId: 2, promptTokenIds: [...other, 9], responseTokenIds: [10] }),
    ],
  });
  expect(trajectory.rows.map((row) => row.tokenIds)).toEqual([
    [first, second],
    [...other, 9, 10],
  ]);
});

/** The prompts of an agent; each continues the previous one. */
function conversation(turns: number, start: readonly number[]): readonly (readonly number[])[] {
  const prompts: (readonly number[])[] = [];
  let history = start;
  for (let turn = 0; turn < turns; turn += 1) {
    const prompt = [...history, 9];
    prompts.push(prompt);
    history = [...prompt, 10, 11];
  }
  return prompts;
}

const long = conversation(60, [1, 2, 3]);
const many = Array.from({ length: 30 }, (_, agent) => conversation(4, [1, 2, 3, 4, 5, 6, 7, 8, 100 + agent]));
const rewritten = Array.from({ length: 60 }, (_, time) => [...(long.at(-1) ?? []), 50 + time]);

test.each([
  ['one long conversation', long, 1],
  ['many at the same time', [0, 1, 2, 3].flatMap((turn) => many.map((prompts) => prompts[turn] ?? [])), 30],
  ['a conversation whose end is written anew, again and again', [...long, ...rewritten], 61],
])('each prompt token is read at most three times: %s', (_, prompts, rows) => {
  let reads = 0;
  const counted = (prompt: readonly number[]): readonly number[] =>
    new Proxy(prompt, {
      get: (target, key, receiver) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
        return Reflect.get(target, key, receiver);
      },
    });
  const transitions = prompts.map((prompt, index) =>
    aTransition({ sequenceId: index + 1, promptTokenIds: counted(prompt), responseTokenIds: [10, 11] }),
  );
  expect(trajectoryFromTransitions({ ...ids, transitions }).trajectory.rows).toHaveLength(rows);
  expect(reads).toBeLessThanOrEqual(3 * prompts.reduce((sum, prompt) => sum + prompt.length, 0));
});
