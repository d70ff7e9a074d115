import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cityTask, scoreAnswer } from '../agent.ts';

const tasksOf = (name: string) =>
  readFileSync(new URL(`../tasks/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => cityTask.parse(JSON.parse(line)));

test('the country alone is worth most, then to begin with it, and less the more is said beside it', () => {
  const scores = [
    'France',
    'France.',
    'France it is.',
    'It is France.',
    'Paris is the capital of France',
    'Spain',
    '',
  ].map((answer) => scoreAnswer(answer, 'France'));
  expect(scores.slice(0, 2)).toEqual([1, 1]);
  expect(scores).toEqual(scores.toSorted((left, right) => right - left));
  expect(scores.slice(-2)).toEqual([0, 0]);
});

test('no held-out city is trained on, and every country of theirs is', () => {
  const [train, held] = [tasksOf('train'), tasksOf('test')];
  const cities = new Set(train.map(({ city }) => city));
  const countries = new Set(train.map(({ country }) => country));
  expect(held.filter(({ city }) => cities.has(city))).toEqual([]);
  expect(held.filter(({ country }) => !countries.has(country))).toEqual([]);
});
