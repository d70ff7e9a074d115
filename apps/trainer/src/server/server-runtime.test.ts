import { AgentLightningError } from '@agentlightning/core';
import { ManualClock } from '@agentlightning/core/testing';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { LaunchedRuntime } from '../runtime/launch-runtime.ts';
import { ServerRuntime } from './server-runtime.ts';

const failure = new AgentLightningError({ code: 'RUNTIME_UNAVAILABLE', message: 'no such port' });

/** A runtime whose starts succeed or fail as planned, and whose process ends when the test says. */
function supervised(...outcomes: readonly ('up' | 'fails')[]) {
  const clock = new ManualClock();
  let starts = 0;
  let restarts = 0;
  let die: () => void = () => undefined;
  const start = async (): Promise<LaunchedRuntime> => {
    const outcome = outcomes[starts] ?? 'up';
    starts += 1;
    if (outcome === 'fails') throw failure;
    const died = new Promise<AgentLightningError>((resolve) => {
      die = () => resolve(failure);
    });
    return { address: `host:${starts}`, apiKey: 'key', pid: starts, died, close: async () => undefined };
  };
  const runtime = new ServerRuntime({
    choice: { type: 'embedded' },
    settings: { model: null, loraRank: null, gpus: null, maxConcurrentRuns: 1 },
    secrets: { runtimeKey: null, inferenceKey: null },
    folder: { path: '/', runtimeLogFile: '/runtime.log' },
    onRestart: () => {
      restarts += 1;
    },
    log: pino({ level: 'silent' }),
    clock,
    start,
  });
  onTestFinished(() => runtime.close());
  return { clock, runtime, die: () => die(), counts: () => ({ starts, restarts }) };
}

test('a runtime that does not start again is tried with backoff until it runs', async () => {
  const { clock, runtime, die, counts } = supervised('up', 'fails', 'fails', 'fails', 'up');
  expect(await runtime.config()).toMatchObject({ address: 'host:1' });
  die();
  await clock.advance(0);
  expect(runtime.isUp).toBe(false);
  await expect(runtime.config()).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  const waiting = runtime.whenUp(new AbortController().signal);
  for (let second = 0; second < 60; second += 1) await clock.advance(1000);
  await waiting;
  expect(await runtime.config()).toMatchObject({ address: 'host:5' });
  expect({ isUp: runtime.isUp, ...counts() }).toEqual({ isUp: true, starts: 5, restarts: 1 });
});

test('a runtime that dies right after its start is not started in a loop', async () => {
  const { clock, runtime, die, counts } = supervised();
  await runtime.config();
  for (let second = 0; second < 30; second += 1) {
    die();
    await clock.advance(1000);
  }
  expect(counts().starts).toBeLessThan(8);
});

test('a wait for the runtime ends with its signal', async () => {
  const { clock, runtime, die } = supervised();
  await runtime.config();
  die();
  await clock.advance(0);
  await expect(runtime.whenUp(AbortSignal.abort(new Error('closing')))).rejects.toThrow('closing');
});
