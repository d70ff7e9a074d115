import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@agentlightning/core';
import type { ModelDirectory } from './model-directory.ts';

/** The turns of the event loop that a request takes to get from its socket to the sampler. */
const turnsToArrive = 4;

/** How long training waits for sampling at a time: about as long as a piece of training takes. */
const longestWaitMs = 80;

/**
 * Lets the model API work between two pieces of training in the same process. A turn of the event loop would give a
 * response no more than one token, so training waits until nobody is being answered, but not for long.
 */
export async function giveWayToSampling(options: {
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
