import type { Attempt, Span } from '@agentlightning/core';
import { recordedFailure } from '@agentlightning/core/protocol';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { attemptFailureOrigin } from '@agentlightning/core/store';

/**
 * Why a rollout cannot be trained on: the agent threw (`agent_error`), exceeded its timeout, ended its process (`crash`), or
 * failed after a failed model call (`model_error`); the services around it failed (`infrastructure`); it succeeded without
 * a reward (`no_reward`), or with a reward and without a trainable model call (`untrainable`).
 */
export const failureCauses = [
  'agent_error',
  'timeout',
  'crash',
  'model_error',
  'infrastructure',
  'no_reward',
  'untrainable',
] as const;

/** One of {@link failureCauses}. */
export type FailureCause = (typeof failureCauses)[number];

/** The cause of a failed attempt. */
export function attemptFailureCause(
  attempt: Pick<Attempt, 'status' | 'metadata'>,
  spans: readonly Span[],
): FailureCause {
  const { code, origin } = recordedFailure(attempt) ?? {};
  if (code === 'TIMEOUT') return origin === 'infrastructure' ? 'infrastructure' : 'timeout';
  if (code === 'AGENT_CRASHED') return 'crash';
  if (lastCall(spans)?.status.code === 'ERROR') return 'model_error';
  return attemptFailureOrigin(attempt) === 'infrastructure' ? 'infrastructure' : 'agent_error';
}

/** The last model call of an attempt; null without one. */
export function lastCall(spans: readonly Span[]): Span | null {
  return spans
    .filter((span) => modelCallFromSpan(span) !== null)
    .reduce<Span | null>(
      (latest, span) => (latest === null || span.sequenceId > latest.sequenceId ? span : latest),
      null,
    );
}
