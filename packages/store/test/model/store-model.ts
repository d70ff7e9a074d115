import type { AttemptStatus, RolloutConfig, RolloutStatus } from '@agentlightning/core';
import { isTerminalAttemptStatus, isTerminalRolloutStatus, rolloutTransitions } from '@agentlightning/core/store';

/** An attempt, as the model has it. */
export interface ModelAttempt {
  status: AttemptStatus;
  readonly startMs: number;
  heartbeatMs: number | null;
  readonly leaseUntilMs: number | null;
  isCounted: boolean;
  isGivenBack: boolean;
}

/** A rollout, as the model has it. */
export interface ModelRollout {
  status: RolloutStatus;
  /** When it ended; null while it has not. */
  endMs: number | null;
  readonly config: RolloutConfig;
  readonly attempts: ModelAttempt[];
}

/** What a command comes to: done, or refused with a code. */
export type Outcome = 'done' | 'NOT_FOUND' | 'ILLEGAL_TRANSITION' | 'CONFLICT';

/** Heartbeat timeout of a claimed attempt in the tests, in milliseconds. */
export const modelLeaseMs = 60_000;

/** Maximum number of lost claims of a rollout in the tests. */
export const modelMaxLostClaims = 2;

/**
 * The store contract's state machine in plain words: rollouts, attempts, the queue, and time. Written from
 * the contract, not from the store.
 */
export class StoreModel {
  /** Null for a deleted one. */
  readonly rollouts: (ModelRollout | null)[] = [];
  /** Indexes of rollouts, first in first out. */
  queue: number[] = [];
  nowMs = 0;

  enqueue(config: RolloutConfig): void {
    this.rollouts.push({ status: 'queuing', endMs: null, config, attempts: [] });
    this.queue.push(this.rollouts.length - 1);
  }

  /** The rollout that a claim gives; null when the queue is empty. */
  claim(): number | null {
    const [first = null] = this.queue;
    if (first === null) return null;
    this.#move(first, 'preparing');
    this.#open(first, this.nowMs + modelLeaseMs);
    return first;
  }

  updateAttempt(index: number, attemptIndex: number, status: AttemptStatus): Outcome {
    const attempt = this.rollouts[index]?.attempts[attemptIndex];
    if (attempt === undefined) return 'NOT_FOUND';
    const isFailure = status === 'failed' || status === 'timeout' || status === 'unresponsive';
    // Another attempt repeats it.
    const isLatest = attemptIndex === (this.rollouts[index]?.attempts.length ?? 0) - 1;
    const { isCounted, isGivenBack } = isLatest ? { isCounted: true, isGivenBack: false } : attempt;
    const counts = isCounted ? { isCounted } : { isCounted, isGivenBack };
    if (!attempt.isGivenBack || !isFailure) return this.#moveAttempt(index, attemptIndex, { status, ...counts });
    // The rollout waits for another try already.
    const current = this.rollouts[index]?.status ?? 'queuing';
    const stays = isQueued(current) ? { rolloutStatus: current } : {};
    return this.#moveAttempt(index, attemptIndex, { status, isCounted: false, isGivenBack: true, ...stays });
  }

  appendSpan(index: number, attemptIndex: number): Outcome {
    const attempt = this.rollouts[index]?.attempts[attemptIndex];
    if (attempt === undefined) return 'NOT_FOUND';
    attempt.heartbeatMs = this.nowMs;
    if (attempt.status !== 'preparing' && attempt.status !== 'unresponsive') return 'done';
    if (attempt.isGivenBack) return 'done';
    return this.#moveAttempt(index, attemptIndex, { status: 'running', isCounted: true });
  }

  updateRollout(index: number, status: RolloutStatus): Outcome {
    const rollout = this.rollouts[index] ?? null;
    if (rollout === null) return 'NOT_FOUND';
    if (rollout.status === status) return 'done';
    if (!this.#mayBecome(index, status)) return 'ILLEGAL_TRANSITION';
    this.#move(index, status);
    if (isQueued(status)) this.#closeOpen(rollout, 'unresponsive', false);
    if (status === 'succeeded') this.#closeOpen(rollout, 'succeeded', true);
    if (status === 'failed') this.#closeOpen(rollout, 'failed', true);
    if (status === 'cancelled') this.#closeOpen(rollout, 'failed', false);
    return 'done';
  }

  startAttempt(index: number): Outcome {
    const rollout = this.rollouts[index] ?? null;
    if (rollout === null) return 'NOT_FOUND';
    if (rollout.status === 'succeeded') return 'ILLEGAL_TRANSITION';
    this.#closeOpen(rollout, 'unresponsive', false);
    this.#move(index, 'preparing');
    this.#open(index, null);
    return 'done';
  }

  delete(index: number): Outcome {
    const rollout = this.rollouts[index] ?? null;
    if (rollout === null) return 'NOT_FOUND';
    if (!isTerminalRolloutStatus(rollout.status)) return 'CONFLICT';
    this.rollouts[index] = null;
    return 'done';
  }

  /** Deletes what ended longer ago than this; how many that were. */
  retain(olderThanMs: number): number {
    const old = [...this.rollouts.keys()].filter((index) => {
      const endMs = this.rollouts[index]?.endMs ?? null;
      return endMs !== null && endMs < this.nowMs - olderThanMs;
    });
    for (const index of old) this.rollouts[index] = null;
    return old.length;
  }

  /** Lets time pass, and the watchdog look. */
  pass(ms: number): void {
    this.nowMs += ms;
    const all = this.rollouts.flatMap((rollout, index) =>
      (rollout?.attempts ?? []).map((attempt, attemptIndex) => ({ index, attemptIndex, attempt })),
    );
    // Sorting is stable: of those that started together, the older rollout's comes first.
    for (const { index, attemptIndex, attempt } of all.toSorted(
      (one, other) => one.attempt.startMs - other.attempt.startMs,
    )) {
      this.#expire(index, attemptIndex, attempt);
    }
  }

  #expire(index: number, attemptIndex: number, attempt: ModelAttempt): void {
    if (!isOpen(attempt.status)) return;
    const { timeoutMs, unresponsiveMs } = this.rollouts[index]?.config ?? {};
    const { nowMs } = this;
    const { startMs, heartbeatMs, leaseUntilMs } = attempt;
    if (typeof timeoutMs === 'number' && nowMs - startMs > timeoutMs) {
      this.#moveAttempt(index, attemptIndex, { status: 'timeout', isCounted: true });
    } else if (typeof unresponsiveMs === 'number' && nowMs - (heartbeatMs ?? startMs) > unresponsiveMs) {
      this.#moveAttempt(index, attemptIndex, { status: 'unresponsive', isCounted: true });
    } else if (
      attempt.status === 'preparing' &&
      heartbeatMs === null &&
      leaseUntilMs !== null &&
      nowMs > leaseUntilMs
    ) {
      const { attempts = [] } = this.rollouts[index] ?? {};
      const lost = attempts.filter((other) => !other.isCounted && !other.isGivenBack).length + 1;
      const rolloutStatus = lost < modelMaxLostClaims ? 'requeuing' : 'failed';
      this.#moveAttempt(index, attemptIndex, { status: 'unresponsive', isCounted: false, rolloutStatus });
    }
  }

  #moveAttempt(
    index: number,
    attemptIndex: number,
    to: { status: AttemptStatus; isCounted: boolean; isGivenBack?: boolean; rolloutStatus?: RolloutStatus },
  ): Outcome {
    const rollout = this.rollouts[index] ?? null;
    const attempt = rollout?.attempts[attemptIndex];
    if (rollout === null || attempt === undefined) return 'NOT_FOUND';
    const wasOver = isTerminalAttemptStatus(attempt.status);
    if (wasOver && isOpen(to.status)) return 'ILLEGAL_TRANSITION';
    const before = { ...attempt };
    attempt.status = to.status;
    attempt.isCounted = to.isCounted;
    attempt.isGivenBack = to.isGivenBack ?? false;
    const isLatest = attemptIndex === rollout.attempts.length - 1;
    if (!isLatest || wasOver || isTerminalRolloutStatus(rollout.status)) return 'done';
    const status = to.rolloutStatus ?? this.#following(rollout, to.status);
    if (!this.#mayBecome(index, status)) {
      Object.assign(attempt, before);
      return 'ILLEGAL_TRANSITION';
    }
    this.#move(index, status);
    return 'done';
  }

  #following(rollout: ModelRollout, status: AttemptStatus): RolloutStatus {
    if (status === 'preparing' || status === 'running' || status === 'succeeded') return status;
    const used = rollout.attempts.filter((attempt) => attempt.isCounted).length;
    const isTriedAgain = rollout.config.retryCondition.includes(status) && used < rollout.config.maxAttempts;
    return isTriedAgain ? 'requeuing' : 'failed';
  }

  #mayBecome(index: number, status: RolloutStatus): boolean {
    const from = this.rollouts[index]?.status;
    return from !== undefined && (from === status || rolloutTransitions[from].includes(status));
  }

  #move(index: number, status: RolloutStatus): void {
    const rollout = this.rollouts[index] ?? null;
    if (rollout === null) return;
    if (isTerminalRolloutStatus(rollout.status)) {
      for (const attempt of rollout.attempts) attempt.isGivenBack ||= !attempt.isCounted;
    }
    if (rollout.status !== status) rollout.endMs = isTerminalRolloutStatus(status) ? this.nowMs : null;
    rollout.status = status;
    if (!isQueued(status)) this.queue = this.queue.filter((queued) => queued !== index);
    else if (!this.queue.includes(index)) this.queue.push(index);
  }

  #open(index: number, leaseUntilMs: number | null): void {
    const attempt = {
      status: 'preparing',
      startMs: this.nowMs,
      heartbeatMs: null,
      leaseUntilMs,
      isCounted: true,
      isGivenBack: false,
    } as const;
    this.rollouts[index]?.attempts.push({ ...attempt });
  }

  #closeOpen(rollout: ModelRollout, status: AttemptStatus, isCounted: boolean): void {
    for (const attempt of rollout.attempts) {
      if (isOpen(attempt.status)) Object.assign(attempt, { status, isCounted, isGivenBack: !isCounted });
    }
  }
}

function isOpen(status: AttemptStatus): boolean {
  return status === 'preparing' || status === 'running';
}

function isQueued(status: RolloutStatus): boolean {
  return status === 'queuing' || status === 'requeuing';
}
