import type { JsonObject } from '../base/json.ts';
import type { ModelUsage } from './model-usage.ts';
import type { RolloutStatus } from './rollout-status.ts';

/**
 * Lifecycle status of a training run. A `running` run whose process died can be resumed. `queued`: it waits for a server to
 * start it; `stopping`: it has been asked to stop, and still works.
 */
export type RunStatus = 'queued' | 'running' | 'stopping' | 'finished' | 'failed' | 'stopped';

/** The statuses of runs that a trainer works on, or will. */
export const unfinishedRunStatuses: readonly RunStatus[] = ['queued', 'running', 'stopping'];

/** A training run: a group of rollouts, with the state for resuming after a crash. */
export interface Run {
  /** Id of the run. */
  readonly runId: string;
  /** Display name; need not be unique. */
  readonly name: string;
  /** State of the run. */
  readonly status: RunStatus;
  /** The initial configuration. */
  readonly config: JsonObject;
  /** Resume state of the trainer: last finished step, checkpoint, best reward. */
  readonly state: JsonObject;
  /** Unix milliseconds. */
  readonly createTimeMs: number;
  /** Unix milliseconds. */
  readonly updateTimeMs: number;
}

/** The metrics of one training step of a run. */
export interface MetricPoint {
  /** Id of the run. */
  readonly runId: string;
  /** Training step, from 1; 0 is before training. */
  readonly step: number;
  /** Unix milliseconds. */
  readonly timeMs: number;
  /** Values by name, such as `reward/mean`, `policy/entropy`, `time/step_s`. */
  readonly values: Readonly<Record<string, number>>;
}

/** Progress of the rollouts of a run. */
export interface RunStatistics {
  /** Id of the run. */
  readonly runId: string;
  /** Number of rollouts. */
  readonly totalRollouts: number;
  /** Number of attempts. */
  readonly totalAttempts: number;
  /** Number of rollouts by status; 0 for an unused status. */
  readonly rolloutsByStatus: Readonly<Record<RolloutStatus, number>>;
  /** Token usage of the captured model calls of all attempts, in order of model. */
  readonly usage: readonly ModelUsage[];
}
