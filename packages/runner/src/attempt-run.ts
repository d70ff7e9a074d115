import type { AttemptedRollout } from '@agentlightning/core';
import type { AttemptOptions } from './runner-options.ts';
import type { RunnerServices } from './runner-services.ts';

/** An attempt about to be run. */
export interface AttemptRun<TTask> {
  readonly rollout: AttemptedRollout;
  readonly options: AttemptOptions<TTask>;
  readonly services: RunnerServices;
  /** Aborts when the runner stops and waits no longer. */
  readonly hardStop: AbortSignal;
}
