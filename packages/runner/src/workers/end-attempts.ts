import type { Clock, JsonObject } from '@agentlightning/core';
import { withRetry } from '@agentlightning/core/internal';
import { failureMetadata } from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { returnToQueue } from '../report-ending.ts';
import type { RunnerStore } from '../runner-store.ts';
import { storeRetryPolicy } from '../store-retry-policy.ts';
import type { CrashCause } from './find-crash-cause.ts';
import type { WorkerEnd } from './worker-process.ts';

/** With the backoff delays, more than a minute without a reachable store. */
const maxTries = 20;

/** Dependencies of {@link endAttempts}. */
export interface EndAttemptsOptions {
  readonly store: RunnerStore;
  readonly clock: Clock;
  /** Reports a failed request to the store. */
  readonly failed: (doing: string, error: unknown) => void;
}

/**
 * Ends the attempt that ended a worker process, which the retry policy of its rollout applies to, and returns the other
 * attempts of the process to the queue, which do not count.
 *
 * @param cause - null when the supervisor ended the process: all attempts are returned
 */
export async function endAttempts(
  end: WorkerEnd,
  cause: CrashCause | null,
  options: EndAttemptsOptions,
): Promise<void> {
  const { store } = options;
  await Promise.all(
    end.attempts.map(async ({ rollout }) => {
      const { rolloutId, attempt } = rollout;
      const isCause = cause?.attempt?.rollout.attempt.attemptId === attempt.attemptId;
      const record = async (): Promise<void> => {
        const metadata = cause === null ? null : metadataOf(rollout, cause, isCause ? 'agent' : 'infrastructure');
        const status = cause !== null && isCause ? { status: cause.status } : {};
        if (metadata !== null) await store.updateAttempt(rolloutId, attempt.attemptId, { ...status, metadata });
        if (!isCause) await returnToQueue(store, rollout);
      };
      const doing = `Ending attempt ${attempt.attemptId} of rollout ${rolloutId}, whose worker process has ended`;
      const retry = storeRetryPolicy(options, { doing, maxTries });
      await withRetry(record, retry).catch((error: unknown) => options.failed(doing, error));
    }),
  );
}

function metadataOf(
  { attempt }: AttemptedRollout,
  { error }: CrashCause,
  origin: 'agent' | 'infrastructure',
): JsonObject {
  const { exitCode, signal, stderr } = error.details as Pick<WorkerEnd, 'exitCode' | 'signal' | 'stderr'>;
  return { ...failureMetadata(attempt, error, origin), process: { exit_code: exitCode, signal, stderr: [...stderr] } };
}
