import { AgentLightningError, type AttemptedRollout } from '@agentlightning/core';
import type { FailureOrigin } from '@agentlightning/core/store';

/**
 * How an attempt ended: `cancelled` when the rollout was ended by somebody else meanwhile, `returned` when the
 * runner stopped and gave the rollout back to the queue.
 */
export type AttemptEnding = 'succeeded' | 'failed' | 'timeout' | 'cancelled' | 'returned';

/** What became of an attempt. */
export interface AttemptOutcome {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly ending: AttemptEnding;
  /** The primary value of the final reward; null when there was none. */
  readonly reward: number | null;
  /** What went wrong; null when it succeeded. */
  readonly error: AgentLightningError | null;
  /** What caused the failure; null when the attempt succeeded. A failure of the infrastructure is not the agent's. */
  readonly failureOrigin: FailureOrigin | null;
  /** In milliseconds. */
  readonly durationMs: number;
}

/** Why an attempt was ended before its agent had. */
export class AttemptAborted extends AgentLightningError {
  readonly ending: Exclude<AttemptEnding, 'succeeded'>;

  private constructor(ending: Exclude<AttemptEnding, 'succeeded'>, message: string) {
    super({ code: ending === 'timeout' ? 'TIMEOUT' : 'CANCELLED', message });
    this.ending = ending;
  }

  /** The time is up. */
  static timeout(timeoutMs: number): AttemptAborted {
    return new AttemptAborted('timeout', `The agent did not finish within ${timeoutMs} ms`);
  }

  /** The runner stops and could not wait any longer. */
  static returned(): AttemptAborted {
    return new AttemptAborted('returned', 'The runner stopped before the agent had finished');
  }

  /** The store says that the attempt is over. */
  static elsewhere(rollout: AttemptedRollout, status: string): AttemptAborted {
    const ending = status === 'timeout' ? 'timeout' : 'cancelled';
    const message = `Attempt ${rollout.attempt.attemptId} of rollout ${rollout.rolloutId} was ended in the store (${status})`;
    return new AttemptAborted(ending, message);
  }
}

/** An error of ours for whatever went wrong with an attempt; errors that are ours already stay. */
export function attemptError(error: unknown): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  const shown = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new AgentLightningError({ code: 'AGENT_FAILED', message: `The agent threw ${shown}`, cause: error });
}
