import { AgentLightningError, type Clock } from '@agentlightning/core';
import { headerNames } from '@agentlightning/core/protocol';
import { GatewayError } from '../wire/gateway-error.ts';
import type { GatewayState, PauseOptions } from '../wire/gateway-options.ts';

interface Pause {
  readonly reason: string;
  readonly retryAfterSeconds: number;
  readonly holdMs: number;
  /** Aborts when the pause is over. */
  readonly over: AbortController;
}

/** Admits calls, rejects them while paused, and notifies when the last one has left. */
export class PauseGate {
  readonly #clock: Clock;
  #pause: Pause | null = null;
  #isClosed = false;
  #inFlight = 0;
  #emptied: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rejects new calls permanently. */
  close(): void {
    this.pause({ reason: 'it is closing' });
    this.#isClosed = true;
  }

  /** Rejects new calls. Pausing again replaces the options. */
  pause(options: PauseOptions): void {
    if (this.#isClosed) return;
    this.resume();
    this.#pause = {
      reason: options.reason ?? 'the model is being updated',
      retryAfterSeconds: options.retryAfterSeconds ?? 5,
      holdMs: options.holdMs ?? 0,
      over: new AbortController(),
    };
  }

  /** Admits calls again. */
  resume(): void {
    if (this.#isClosed) return;
    this.#pause?.over.abort();
    this.#pause = null;
  }

  /**
   * Admits one call. Dispose the result when the call is complete.
   *
   * @param signal - aborts the wait of a call that is held
   * @throws GatewayError while paused
   */
  async enter(signal: AbortSignal): Promise<Disposable> {
    if (this.#pause !== null) await this.#hold(this.#pause, signal);
    this.#inFlight += 1;
    let isReleased = false;
    return {
      [Symbol.dispose]: () => {
        if (isReleased) return;
        isReleased = true;
        this.#inFlight -= 1;
        if (this.#inFlight > 0) return;
        for (const notify of this.#emptied.splice(0)) notify();
      },
    };
  }

  /**
   * Resolves when no call is in flight, and their records are written.
   *
   * @throws AgentLightningError with code TIMEOUT after `timeoutMs`
   */
  async drain(written: () => Promise<void>, timeoutMs: number = Number.POSITIVE_INFINITY): Promise<void> {
    const drained = this.#untilEmpty().then(written);
    if (!Number.isFinite(timeoutMs)) return await drained;
    const stopTimer = new AbortController();
    const timedOut = this.#clock.sleep(timeoutMs, stopTimer.signal).then(
      () => true,
      () => false,
    );
    const isLate = await Promise.race([drained.then(() => false), timedOut]);
    stopTimer.abort();
    if (!isLate) return;
    throw new AgentLightningError({
      code: 'TIMEOUT',
      message: `${this.#inFlight} model calls are still in flight after ${timeoutMs} ms, or not yet recorded`,
      remedy: 'Wait longer, or close the gateway to abort them.',
      details: { inFlight: this.#inFlight, timeoutMs },
    });
  }

  state(): GatewayState {
    return { isPaused: this.#pause !== null, reason: this.#pause?.reason ?? null, inFlight: this.#inFlight };
  }

  async #untilEmpty(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve));
  }

  async #hold(pause: Pause, signal: AbortSignal): Promise<void> {
    if (pause.holdMs > 0) {
      const hasEnded = await this.#clock.sleep(pause.holdMs, AbortSignal.any([pause.over.signal, signal])).then(
        () => false,
        () => true,
      );
      if (hasEnded && this.#pause === null) return;
    }
    throw new GatewayError({
      code: 'RESOURCE_EXHAUSTED',
      httpStatus: 429,
      type: 'paused',
      message: `the gateway is paused: ${pause.reason}`,
      remedy: `Retry in ${pause.retryAfterSeconds} s.`,
      headers: { 'retry-after': String(pause.retryAfterSeconds), [headerNames.paused]: 'true' },
    });
  }
}
