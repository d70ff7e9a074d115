import { AgentLightningError } from '@agentlightning/core';
import type { ClaimedAttempt } from './claimed-attempts.ts';
import { lastOutput } from './last-lines.ts';
import type { Suspects } from './suspects.ts';
import type { WorkerEnd } from './worker-process.ts';

/** Attempt that ended a worker process. */
export interface Verdict {
  /** The attempt whose agent ended the process; null when it is unknown. */
  readonly culprit: ClaimedAttempt | null;
  readonly status: 'failed' | 'timeout';
  /** Exit code or signal of the process. */
  readonly error: AgentLightningError;
}

/** Signals that an operator, a service manager or the system sends. */
const foreignSignals: ReadonlySet<string | null> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']);

/** Finds the attempt that ended a worker process, and updates the suspects. */
export function judgeEnd(end: WorkerEnd, suspects: Suspects): Verdict {
  const isBlocked = end.isBlocked || end.lastWords?.cause === 'blocked';
  const culprit = findCulprit(end, suspects);
  return { culprit, status: isBlocked ? 'timeout' : 'failed', error: endError(end, culprit, isBlocked) };
}

function findCulprit(end: WorkerEnd, suspects: Suspects): ClaimedAttempt | null {
  const { attempts, lastWords } = end;
  const attemptId = lastWords?.attemptId ?? null;
  if (attemptId !== null) {
    suspects.clear();
    // None if its attempt has ended, and code that it left behind has ended the process.
    return attempts.find(({ rollout }) => rollout.attempt.attemptId === attemptId) ?? null;
  }
  const [only, ...others] = attempts;
  const isByAgent = end.isBlocked || lastWords !== null || !foreignSignals.has(end.signal);
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

function endError(end: WorkerEnd, culprit: ClaimedAttempt | null, isBlocked: boolean): AgentLightningError {
  const { exitCode, signal, stderr, pid } = end;
  const details = { exitCode, signal, stderr };
  const subject = culprit === null ? `Worker process ${pid}` : `The agent of rollout ${culprit.rollout.rolloutId}`;
  if (isBlocked) {
    const where = end.lastWords === null ? '' : `, in ${end.lastWords.detail}`;
    return new AgentLightningError({
      code: 'TIMEOUT',
      message: `${subject} blocked the event loop beyond the timeout of a rollout${where}`,
      remedy: 'Let the agent await, or run its computation in a worker thread or a child process.',
      details,
    });
  }
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  // Of an exception, the output has the stack.
  const cause = end.lastWords === null ? lastOutput(stderr) : `: ${end.lastWords.detail}`;
  const message = culprit === null ? `${subject} ended with ${how}` : `${subject} ended its process with ${how}`;
  return new AgentLightningError({ code: 'AGENT_CRASHED', message: `${message}${cause}`, details });
}
