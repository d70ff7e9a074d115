import type { AttemptedRollout } from '@agentlightning/core';
import type { AttemptOptions } from './runner-options.ts';
import type { RunnerServices } from './runner-services.ts';

/** The input of an attempt. */
export interface AttemptRun<TTask> {
  readonly rollout: AttemptedRollout;
  readonly options: AttemptOptions<TTask>;
  readonly services: RunnerServices;
  /** Aborts when the grace time of a stopped runner is over. */
  readonly hardStop: AbortSignal;
}
