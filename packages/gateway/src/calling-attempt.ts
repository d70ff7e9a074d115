import { createHash } from 'node:crypto';
import type { RolloutMode } from '@agentlightning/core';

/** The attempt that a call says it belongs to. */
export interface AttemptAddress {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** What the address says; the mode of the rollout itself goes before it. */
  readonly mode: RolloutMode | null;
}

/** An attempt that may call models. */
export interface CallingAttempt {
  readonly rolloutId: string;
  readonly attemptId: string;
  /**
   * 1, and 1 more for each earlier attempt that failed by the agent's own doing: part of the seed. An attempt that was
   * lost with its runner, or to a service, is repeated with the same seed.
   */
  readonly seedNumber: number;
  readonly mode: RolloutMode | null;
  /** The trace of calls whose agent does not name one: the same for all calls of the attempt. */
  readonly traceId: string;
  /** How many calls the gateway let through before this one. */
  readonly callIndex: number;
  /** What the seeds of its calls are made of: the rollout's `sampling_key`, or its id. */
  readonly samplingKey: string;
  /** Whether it stands for the calls that belong to no attempt. */
  readonly isPlain: boolean;
}

/** The trace of an attempt's calls. */
export function attemptTraceId(rolloutId: string, attemptId: string): string {
  return createHash('sha256').update(`${rolloutId}/${attemptId}`).digest('hex').slice(0, 32);
}
