/**
 * Says that a call is over before its answer is. What an `AbortSignal` says, at a fraction of its cost: nearly every
 * call ends by itself, and needs no more than a place where somebody could have said otherwise.
 */
export class CallSignal {
  #reason: unknown = null;
  #isAborted = false;
  #listeners: (() => void)[] = [];
  #controller: AbortController | null = null;

  /** One that follows an `AbortSignal`. */
  static following(signal: AbortSignal): CallSignal {
    const follower = new CallSignal();
    if (signal.aborted) follower.abort(signal.reason);
    else signal.addEventListener('abort', () => follower.abort(signal.reason), { once: true });
    return follower;
  }

  get aborted(): boolean {
    return this.#isAborted;
  }

  /** Why; a `GatewayError` when the gateway ends the call. */
  get reason(): unknown {
    return this.#reason;
  }

  /** The same for those who take nothing else. */
  get abortSignal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Tells once, at once when it is over already. */
  onAbort(listener: () => void): void {
    if (this.#isAborted) listener();
    else this.#listeners.push(listener);
  }

  /** Ends the call; only the first time counts. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
