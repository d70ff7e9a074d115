import type { JsonObject } from './json.ts';

/** Where a training run is in its life. A run that is `running` but whose process died can be resumed. */
export type RunStatus = 'running' | 'finished' | 'failed' | 'stopped';

/** A training run: a grouping of rollouts, with what is needed to go on after a crash. */
export interface Run {
  readonly runId: string;
  /** A name for people; need not be unique. */
  readonly name: string;
  readonly status: RunStatus;
  /** The configuration it was started with. */
  readonly config: JsonObject;
  /** What the trainer needs to resume: last finished step, checkpoint, best reward. */
  readonly state: JsonObject;
  /** Unix milliseconds. */
  readonly createTimeMs: number;
  /** Unix milliseconds. */
  readonly updateTimeMs: number;
}

/** The metrics of one training step of a run. */
export interface MetricPoint {
  readonly runId: string;
  /** Training step, from 1; 0 is before training. */
  readonly step: number;
  /** Unix milliseconds. */
  readonly timeMs: number;
  /** Values by name, such as `reward/mean`, `policy/entropy`, `time/step_s`. */
  readonly values: Readonly<Record<string, number>>;
}
