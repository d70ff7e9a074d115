import { systemClock } from '@agentlightning/core/internal';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { currentAttemptId, encodeExitReport, writeExitReport } from './exit-report.ts';
import { type BlockedLimits, type EventLoopWatch, watchEventLoop } from './watch-event-loop.ts';
import { exitReportFd } from './worker-messages.ts';

/** The longest time before a timeout at which a blocked event loop ends the process, in milliseconds. */
const maxMarginMs = 2000;

/** The shortest block that ends the process, in milliseconds: shorter ones are the jitter of a busy machine. */
const minBlockedMs = 500;

/** The block that ends the process while other attempts wait for its event loop, in milliseconds. */
const maxSharedBlockMs = 10_000;

/** Time limit for pausing the blocking code, in milliseconds. */
const pauseTimeoutMs = 1000;

/**
 * Ends this process when its event loop is blocked at the timeout of an attempt, or for long while it has several attempts.
 * Shortly before a timeout: afterwards, the store would end the attempts of agents that do not block.
 */
export class AttemptDeadlines {
  readonly #limits = new Map<string, Omit<BlockedLimits, 'maxBlockedMs'>>();
  readonly #eventLoop: EventLoopWatch;

  constructor() {
    const cause = 'blocked';
    this.#eventLoop = watchEventLoop({
      exitCode: 1,
      parentPid: process.ppid,
      pauseTimeoutMs,
      onBlocked: (where) => writeExitReport({ cause, detail: where, attemptId: currentAttemptId() }),
      nativeCode: { fd: exitReportFd, message: encodeExitReport({ cause, detail: 'native code', attemptId: null }) },
    });
  }

  /** An attempt has started. */
  started({ attempt, config: { timeoutMs } }: AttemptedRollout): void {
    const marginMs = timeoutMs === null ? maxMarginMs : Math.min(maxMarginMs, timeoutMs / 4);
    const earliestMs = timeoutMs === null ? Number.POSITIVE_INFINITY : systemClock.now() + timeoutMs - marginMs;
    this.#limits.set(attempt.attemptId, { minBlockedMs: Math.max(minBlockedMs, marginMs), earliestMs });
    this.#update();
  }

  /** An attempt has ended. */
  ended(attemptId: string): void {
    this.#limits.delete(attemptId);
    this.#update();
  }

  #update(): void {
    const limits = [...this.#limits.values()];
    this.#eventLoop.setLimits({
      minBlockedMs: Math.min(...limits.map((limit) => limit.minBlockedMs)),
      earliestMs: Math.min(...limits.map(({ earliestMs }) => earliestMs)),
      maxBlockedMs: limits.length > 1 ? maxSharedBlockMs : Number.POSITIVE_INFINITY,
    });
  }
}
