import type { Attempt, AttemptStatus } from './attempt.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { RolloutStatus } from './rollout-status.ts';

/** What a rollout is for: training on it, choosing between policies, or measuring at the end. */
export type RolloutMode = 'train' | 'val' | 'test';

/** How long a rollout may take and how often it is tried. */
export interface RolloutConfig {
  /** An attempt older than this becomes `timeout`, in milliseconds. @default null no limit */
  readonly timeoutMs: number | null;
  /** An attempt silent for longer than this becomes `unresponsive`, in milliseconds. @default null no limit */
  readonly unresponsiveMs: number | null;
  /** How many attempts it may have, at least 1. @default 1 */
  readonly maxAttempts: number;
  /** The attempt outcomes that lead to another attempt. @default [] none */
  readonly retryCondition: readonly AttemptStatus[];
}

/** The configuration of a rollout that asks for nothing special. */
export const defaultRolloutConfig: RolloutConfig = {
  timeoutMs: null,
  unresponsiveMs: null,
  maxAttempts: 1,
  retryCondition: [],
};

/** One run of the agent on a task, from the queue to its end. */
export interface Rollout {
  readonly rolloutId: string;
  /** The task: what the agent is asked to do. */
  readonly input: JsonValue;
  readonly status: RolloutStatus;
  readonly mode: RolloutMode | null;
  /** The snapshot of resources (model endpoint, prompt templates) it runs with. */
  readonly resourcesId: string | null;
  /** The training run it belongs to; null for a rollout that somebody started by hand. */
  readonly runId: string | null;
  readonly config: RolloutConfig;
  readonly metadata: JsonObject | null;
  /** When it was enqueued or started, in Unix milliseconds. */
  readonly startTimeMs: number;
  /** When it became terminal, in Unix milliseconds. */
  readonly endTimeMs: number | null;
}

/** A rollout together with one of its attempts: what a runner claims. */
export interface AttemptedRollout extends Rollout {
  readonly attempt: Attempt;
}

/** Whether a rollout that was read comes with its latest attempt: it has been claimed at least once. */
export function hasAttempt(rollout: Rollout | AttemptedRollout): rollout is AttemptedRollout {
  return 'attempt' in rollout;
}

/** What is needed to put a rollout into the queue. */
export interface EnqueueRolloutRequest {
  /** Chosen by the client, for idempotency; a new one by default. An existing id returns the existing rollout. */
  readonly rolloutId?: string;
  readonly input: JsonValue;
  readonly mode?: RolloutMode | null;
  /** @default the latest resources at the time of the call */
  readonly resourcesId?: string | null;
  readonly runId?: string | null;
  readonly config?: Partial<RolloutConfig>;
  readonly metadata?: JsonObject | null;
}

/** What is needed to start a rollout at once, past the queue. */
export interface StartRolloutRequest extends EnqueueRolloutRequest {
  readonly workerId?: string | null;
}
