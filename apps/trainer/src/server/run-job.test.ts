import { expect, test } from 'vitest';
import { RunRestarts } from './run-job.ts';

const summary = { steps: 10, reward: 0, entropy: null, tokensPerSecond: 1, seconds: 1, secondsLeft: 1, metrics: {} };

test('a run that finishes steps between its restarts is restarted any number of times', () => {
  const restarts = new RunRestarts();
  for (let step = 1; step <= 10; step += 1) {
    expect(restarts.begin()).toBe(true);
    restarts.observe({ type: 'stepped', summary: { ...summary, step } });
  }
});

test('a run that repeats its last steps only is restarted three times', () => {
  const restarts = new RunRestarts();
  const begun: boolean[] = [];
  for (let restart = 0; restart < 4; restart += 1) {
    for (const step of [1, 2]) restarts.observe({ type: 'stepped', summary: { ...summary, step } });
    restarts.observe({ type: 'checkpointed', step: 2, uri: 'file:///step-2', policy: null });
    begun.push(restarts.begin());
  }
  expect(begun).toEqual([true, true, true, false]);
});
