/** The limits of an upstream's concurrent and queued calls. */
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
 * The slots of an upstream, which calls hold until the end of their response. When all are taken, calls wait in a
 * bounded queue that is fair between rollouts: each waiting rollout gets a slot in turn, however many calls it has queued.
 */
export class CallSlots {
  readonly #maxConcurrent: number;
  readonly #maxQueued: number;
  /** Queued calls by rollout, in the order in which the rollouts get a slot. */
  readonly #queues: Map<string, Waiter[]> = new Map();
  #inFlight = 0;
  #queued = 0;

  constructor({ maxConcurrent, maxQueued }: CallSlotsOptions) {
    this.#maxConcurrent = maxConcurrent ?? Number.POSITIVE_INFINITY;
    this.#maxQueued = maxQueued;
  }

  /** Calls that hold a slot. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Calls in the queue. */
  get queued(): number {
    return this.#queued;
  }

  /** Whether a new call is neither admitted nor queued. */
  get isFull(): boolean {
    return this.#inFlight >= this.#maxConcurrent && this.#queued >= this.#maxQueued;
  }

  /** Takes a free slot. @returns the function that frees it; null when no slot is free */
  tryEnter(): (() => void) | null {
    if (this.#inFlight >= this.#maxConcurrent) return null;
    this.#inFlight += 1;
    return this.#leaveOnce();
  }

  /**
   * Waits for a slot in the queue of a rollout. Resolves with the function that frees it.
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
      const queue = this.#queues.get(key) ?? [];
      queue.push(waiter);
      this.#queues.set(key, queue);
      this.#queued += 1;
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #leaveOnce(): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = this.#next();
      // The slot is handed over, so that a new call cannot overtake queued ones.
      if (next === null) this.#inFlight -= 1;
      else next.enter();
    };
  }

  #next(): Waiter | null {
    const turn = this.#queues.entries().next();
    if (turn.done === true) return null;
    const [key, queue] = turn.value;
    const waiter = queue.shift() ?? null;
    this.#queues.delete(key);
    if (queue.length > 0) this.#queues.set(key, queue);
    this.#queued -= 1;
    return waiter;
  }

  #forget(waiter: Waiter): void {
    const queue = this.#queues.get(waiter.key);
    const index = queue?.indexOf(waiter) ?? -1;
    if (queue === undefined || index < 0) return;
    queue.splice(index, 1);
    if (queue.length === 0) this.#queues.delete(waiter.key);
    this.#queued -= 1;
  }
}
