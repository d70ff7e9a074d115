import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@agentlightning/core';
import type { ModelDirectory } from './model-directory.ts';

/** Turns of the event loop that a request needs to reach the sampler from its socket. */
const turnsToArrive = 4;

/** Maximum wait of training for sampling: about the duration of a training slice. */
const longestWaitMs = 80;

/**
 * Yields to the model API between slices of training in the same process. A turn of the event loop advances a response
 * by at most one token, so training waits for all responses in progress, for a limited time.
 */
export async function yieldToSampling(options: {
  readonly models: ModelDirectory;
  readonly clock: Clock;
}): Promise<void> {
  const { models, clock } = options;
  const until = clock.now() + longestWaitMs;
  for (let turn = 0; turn < turnsToArrive; turn++) await setImmediate();
  while (isSampling(models) && clock.now() < until) await setImmediate();
}

function isSampling(models: ModelDirectory): boolean {
  return [...models.values()].some(({ engine }) => engine.activeSamples > 0);
}
