/** How many calls an upstream takes at a time, and how many wait. */
export interface CallSlotsOptions {
  /** Null for no limit. */
  readonly maxConcurrent: number | null;
  readonly maxQueued: number;
}

interface Waiter {
  readonly key: string;
  readonly enter: () => void;
}

/**
 * The places of an upstream that calls hold while they are answered. When all are taken, calls wait in a bounded line
 * that is fair between rollouts: each waiting rollout gets a place in turn, however many calls it has waiting.
 */
export class CallSlots {
  readonly #maxConcurrent: number;
  readonly #maxQueued: number;
  /** Waiting calls by rollout, in the order in which the rollouts get their turn. */
  readonly #lines: Map<string, Waiter[]> = new Map();
  #inFlight = 0;
  #queued = 0;

  constructor({ maxConcurrent, maxQueued }: CallSlotsOptions) {
    this.#maxConcurrent = maxConcurrent ?? Number.POSITIVE_INFINITY;
    this.#maxQueued = maxQueued;
  }

  /** Calls that hold a place. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Calls that wait for one. */
  get queued(): number {
    return this.#queued;
  }

  /** Whether a call that comes now is neither let in nor may wait. */
  get isFull(): boolean {
    return this.#inFlight >= this.#maxConcurrent && this.#queued >= this.#maxQueued;
  }

  /** A place, if one is free: the function that gives it back. Null when the call would have to wait. */
  tryEnter(): (() => void) | null {
    if (this.#inFlight >= this.#maxConcurrent) return null;
    this.#inFlight += 1;
    return this.#leaveOnce();
  }

  /**
   * Waits for a place, in the line of a rollout. The function that it resolves with gives the place back.
   *
   * @throws the signal's reason when it aborts before
   */
  wait(key: string, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#forget(waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        key,
        enter: () => {
          signal.removeEventListener('abort', onAbort);
          resolve(this.#leaveOnce());
        },
      };
      const line = this.#lines.get(key) ?? [];
      line.push(waiter);
      this.#lines.set(key, line);
      this.#queued += 1;
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #leaveOnce(): () => void {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      const next = this.#next();
      // The place goes from hand to hand, so that nobody who has just come gets before those who wait.
      if (next === null) this.#inFlight -= 1;
      else next.enter();
    };
  }

  #next(): Waiter | null {
    const turn = this.#lines.entries().next();
    if (turn.done === true) return null;
    const [key, line] = turn.value;
    const waiter = line.shift() ?? null;
    this.#lines.delete(key);
    if (line.length > 0) this.#lines.set(key, line);
    this.#queued -= 1;
    return waiter;
  }

  #forget(waiter: Waiter): void {
    const line = this.#lines.get(waiter.key);
    const index = line?.indexOf(waiter) ?? -1;
    if (line === undefined || index < 0) return;
    line.splice(index, 1);
    if (line.length === 0) this.#lines.delete(waiter.key);
    this.#queued -= 1;
  }
}
