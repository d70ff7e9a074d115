import { AgentLightningError } from '@agentlightning/core';
import type { ClaimedAttempt } from './claimed-attempts.ts';
import type { CrashSuspects } from './crash-suspects.ts';
import { lastOutput } from './output-tail.ts';
import type { WorkerEnd } from './worker-process.ts';

/** Cause of the end of a worker process. */
export interface CrashCause {
  /** The attempt whose agent ended the process; null when it is unknown. */
  readonly attempt: ClaimedAttempt | null;
  readonly status: 'failed' | 'timeout';
  /** Exit code or signal of the process. */
  readonly error: AgentLightningError;
}

/** Signals that an operator, a service manager or the system sends. */
const foreignSignals: ReadonlySet<string | null> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']);

/** Finds the attempt that ended a worker process by a crash or a blocked event loop, and updates the suspects. */
export function findCrashCause(end: WorkerEnd, suspects: CrashSuspects): CrashCause {
  const isBlocked = end.isBlocked || end.exitReport?.cause === 'blocked';
  const attempt = findAttempt(end, suspects);
  return { attempt, status: isBlocked ? 'timeout' : 'failed', error: endError(end, attempt, isBlocked) };
}

function findAttempt(end: WorkerEnd, suspects: CrashSuspects): ClaimedAttempt | null {
  const { attempts, exitReport } = end;
  const attemptId = exitReport?.attemptId ?? null;
  if (attemptId !== null) {
    suspects.clear();
    // None if its attempt has ended, and code that it left behind has ended the process.
    return attempts.find(({ rollout }) => rollout.attempt.attemptId === attemptId) ?? null;
  }
  const [only, ...others] = attempts;
  const isByAgent = end.isBlocked || exitReport !== null || !foreignSignals.has(end.signal);
  if (only !== undefined && others.length === 0 && (isByAgent || suspects.has(only.rollout.rolloutId))) {
    suspects.clear();
    return only;
  }
  suspects.add(
    attempts.map(({ rollout }) => rollout.rolloutId),
    isByAgent,
  );
  return null;
}

function endError(end: WorkerEnd, attempt: ClaimedAttempt | null, isBlocked: boolean): AgentLightningError {
  const { exitCode, signal, stderr, pid } = end;
  const details = { exitCode, signal, stderr };
  const subject = attempt === null ? `Worker process ${pid}` : `The agent of rollout ${attempt.rollout.rolloutId}`;
  if (isBlocked) {
    const where = end.exitReport === null ? '' : `, in ${end.exitReport.detail}`;
    return new AgentLightningError({
      code: 'TIMEOUT',
      message: `${subject} blocked the event loop beyond the timeout of a rollout, or for 10 s while others waited${where}`,
      remedy: 'Let the agent await, or run its computation in a worker thread or a child process.',
      details,
    });
  }
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  // Of an exception, the output has the stack.
  const cause = end.exitReport === null ? lastOutput(stderr) : `: ${end.exitReport.detail}`;
  const message = attempt === null ? `${subject} ended with ${how}` : `${subject} ended its process with ${how}`;
  return new AgentLightningError({ code: 'AGENT_CRASHED', message: `${message}${cause}`, details });
}
