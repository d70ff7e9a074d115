import { AgentLightningError, type Clock } from '@agentlightning/core';
import type { TrainingEvent } from '@agentlightning/core/protocol';
import { ErrorReason, RuntimeError } from '@agentlightning/runtime';
import { expect, test } from 'vitest';
import { Restarts } from './restarts.ts';

const clock: Clock = { now: () => 0, sleep: async () => undefined };
const summary = { reward: 0, ci95: [0, 0], rollouts: 1, failed: 0, missing: 0 } as const;
const evaluated: TrainingEvent = { type: 'evaluated', step: 0, phase: 'before', tasks: 'test', summary };
const started = { type: 'started' } as TrainingEvent;
const lost = new AgentLightningError({ code: 'RUNTIME_UNAVAILABLE', message: 'the runtime is gone' });

test('a run is resumed a limited number of times without progress, and again after progress', async () => {
  const messages: string[] = [];
  const restarts = new Restarts({
    maxRestarts: 2,
    emit: (event) => event.type === 'warning' && messages.push(event.message),
    signal: new AbortController().signal,
    clock,
  });
  for (const round of [1, 2]) {
    restarts.observe(started);
    if (round === 2) restarts.observe(evaluated);
    for (const count of [1, 2]) {
      restarts.observe(started);
      expect(restarts.isResumable(lost)).toBe(true);
      await restarts.next(lost);
      expect(messages.at(-1)).toContain(`restart ${count} of at most 2 in a row`);
    }
    restarts.observe(started);
    expect(restarts.isResumable(lost)).toBe(false);
  }
});

test('a run is resumed when its runtime was restarted, and does not know the model', () => {
  const restarts = new Restarts({ maxRestarts: 1, emit: () => undefined, signal: new AbortController().signal, clock });
  restarts.observe(started);
  const reason = ErrorReason.NOT_FOUND;
  expect(restarts.isResumable(new RuntimeError({ reason, message: 'Model "one" not found' }))).toBe(true);
  expect(restarts.isResumable(new AgentLightningError({ code: 'NOT_FOUND', message: 'no such rollout' }))).toBe(false);
});

test('a run is not resumed when it has not started, was stopped, or failed otherwise', async () => {
  const stop = new AbortController();
  const restarts = new Restarts({ maxRestarts: 2, emit: () => undefined, signal: stop.signal, clock });
  expect(restarts.isResumable(lost)).toBe(false);
  restarts.observe(started);
  expect(restarts.isResumable(new AgentLightningError({ code: 'STORE_FULL', message: 'full' }))).toBe(false);
  await restarts.next(lost);
  expect(restarts.isResumable(lost)).toBe(false);
  restarts.observe(started);
  stop.abort();
  expect(restarts.isResumable(lost)).toBe(false);
});
