import { traceFetch } from '@agentlightning/fetch';
import type { Agent } from '@agentlightning/runner';
import OpenAI from 'openai';

/** Measures how many slots of a runner are used. */
export interface RunnerLoad {
  /** Starts the measurement; later calls have no effect. */
  start(): void;
  /** Ends the measurement. */
  stop(): void;
  /** Called when a rollout starts (1) and ends (-1). */
  add(change: 1 | -1): void;
  /** The share of slot time without a rollout, from 0 to 1. */
  idleShare(): number;
}

/** Creates a {@link RunnerLoad} of a runner with so many slots. */
export function runnerLoad(slots: number): RunnerLoad {
  let startedMs: number | null = null;
  let stoppedMs: number | null = null;
  let lastMs = 0;
  let running = 0;
  let busyMs = 0;
  const advance = (): void => {
    const now = performance.now();
    if (startedMs !== null && stoppedMs === null) busyMs += running * (now - lastMs);
    lastMs = now;
  };
  return {
    start: () => {
      if (startedMs !== null) return;
      advance();
      startedMs = lastMs;
    },
    stop: () => {
      advance();
      stoppedMs ??= lastMs;
    },
    add: (change) => {
      advance();
      running += change;
    },
    idleShare: () => 1 - busyMs / (((stoppedMs ?? lastMs) - (startedMs ?? lastMs)) * slots),
  };
}

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch(), maxRetries: 0 });

/** An agent of three model calls, one after another, whose reward differs between rollouts. */
export function threeCalls(load: RunnerLoad): Agent<{ readonly index: number }> {
  return async ({ index }, { metadata }) => {
    load.add(1);
    try {
      for (let turn = 0; turn < 3; turn += 1) {
        const content = `task ${index}, turn ${turn}`;
        await client.chat.completions.create({ model: 'any', messages: [{ role: 'user', content }] });
      }
    } finally {
      load.add(-1);
    }
    return Number(metadata?.['sample']) % 2;
  };
}
