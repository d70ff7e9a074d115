import { AgentLightningError } from '@agentlightning/core';
import type { AttemptedRollout, FailureOrigin } from '@agentlightning/core/store';

/**
 * How an attempt ended: `cancelled` when the store ended it, `returned` when the runner stopped and returned the rollout to
 * the queue.
 */
export type AttemptEnding = 'succeeded' | 'failed' | 'timeout' | 'cancelled' | 'returned';

/** The outcome of an attempt. */
export interface AttemptOutcome {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** How the attempt ended. */
  readonly ending: AttemptEnding;
  /** The primary value of the final reward; null without a reward. */
  readonly reward: number | null;
  /** The error; null when the attempt succeeded. */
  readonly error: AgentLightningError | null;
  /** The cause of the failure; null when the attempt succeeded. The agent is not responsible for infrastructure failures. */
  readonly failureOrigin: FailureOrigin | null;
  /** In milliseconds. */
  readonly durationMs: number;
}

/** Ends an attempt before its agent has finished. */
export class AttemptAborted extends AgentLightningError {
  readonly ending: Exclude<AttemptEnding, 'succeeded'>;

  private constructor(ending: Exclude<AttemptEnding, 'succeeded'>, message: string, cause?: AgentLightningError) {
    super({ code: ending === 'timeout' ? 'TIMEOUT' : 'CANCELLED', message, cause });
    this.ending = ending;
  }

  /**
   * The attempt has reached its timeout. When a model call took at least half of it without a response, the agent is not
   * responsible: the origin of the failure is the model.
   *
   * @param waitMs - waiting time of the oldest model call without a response; 0 without one
   */
  static timeout(timeoutMs: number, waitMs: number): AttemptAborted {
    const message = `The agent did not finish within ${timeoutMs} ms`;
    if (waitMs === 0 || waitMs < timeoutMs / 2) return new AttemptAborted('timeout', message);
    const waited = `a model call has had no response for ${Math.round(waitMs)} ms`;
    const cause = new AgentLightningError({
      code: 'UPSTREAM_FAILED',
      message: waited,
      remedy: 'Check the load of the model, or raise the timeout of rollouts.',
    });
    return new AttemptAborted('timeout', `${message}: ${waited}`, cause);
  }

  /** The grace time of a stopped runner is over. */
  static returned(): AttemptAborted {
    return new AttemptAborted('returned', 'The runner stopped before the agent had finished');
  }

  /** The store has ended the attempt. */
  static endedInStore(rollout: AttemptedRollout, status: string): AttemptAborted {
    const ending = status === 'timeout' ? 'timeout' : 'cancelled';
    const message = `Attempt ${rollout.attempt.attemptId} of rollout ${rollout.rolloutId} was ended in the store (${status})`;
    return new AttemptAborted(ending, message);
  }
}

/** Converts any error to an AgentLightningError; such errors are returned unchanged. */
export function attemptError(error: unknown): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  const shown = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new AgentLightningError({ code: 'AGENT_FAILED', message: `The agent threw ${shown}`, cause: error });
}
