import { createHash } from 'node:crypto';
import type { RolloutMode } from '@agentlightning/core';

/** A call of a deployment, which is a trace of production or a part of one. */
export interface ProductionCall {
  readonly deployment: string;
  /** The version that serves the call. */
  readonly version: string;
  /** The trial that it is a part of; null without a candidate. */
  readonly trial: string | null;
  readonly user: string | null;
  readonly conversation: string | null;
  /** The candidate that was away, and why; null when the version is the one that the call was for. */
  readonly fallback: { readonly from: string; readonly reason: string } | null;
  /** Takes the record of a failure without a first byte, of a call that another version may respond to; null: it is recorded at once. */
  readonly deferFailure: ((record: () => void) => void) | null;
}

/** The attempt that a call names. */
export interface AttemptAddress {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The mode in the address; the rollout's own mode takes precedence. */
  readonly mode: RolloutMode | null;
}

/** An attempt that may call models. */
export interface CallingAttempt {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The run of the rollout; null for none. */
  readonly runId: string | null;
  /**
   * Part of the seed: 1 plus the number of earlier attempts that failed through the agent. An attempt that was lost with
   * its runner, or to an infrastructure failure, is repeated with the same seed.
   */
  readonly seedNumber: number;
  readonly mode: RolloutMode | null;
  /** Default trace id of the attempt's calls. */
  readonly traceId: string;
  /** Index among the attempt's calls with a response of a model. */
  readonly callIndex: number;
  /** Ends a call without a response of a model: its repetition gets its index, and so its seed. */
  readonly giveBackIndex: () => void;
  /** Base of the seeds: the rollout's `sampling_key`, or its id. */
  readonly samplingKey: string;
  /** The rollout's `sampling_seed`, for a gateway without a seed; null for none. */
  readonly samplingSeed: number | null;
  /** Whether this is the placeholder attempt of unattributed calls. */
  readonly isUnattributed: boolean;
  /** Null for a rollout of a run. */
  readonly production: ProductionCall | null;
}

/** Span attribute of {@link CallingAttempt.callIndex}, for calls with a response of a model. */
export const callIndexAttribute = 'agentlightning.call_index';

/** The default trace id of an attempt's calls. */
export function attemptTraceId(rolloutId: string, attemptId: string): string {
  return createHash('sha256').update(`${rolloutId}/${attemptId}`).digest('hex').slice(0, 32);
}
