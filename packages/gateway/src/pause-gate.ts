import { AgentLightningError, type Clock } from '@agentlightning/core';
import type { CallSignal } from './call-signal.ts';
import { GatewayError } from './gateway-error.ts';
import type { GatewayState, PauseOptions } from './gateway-options.ts';

interface Pause {
  readonly reason: string;
  readonly retryAfterSeconds: number;
  readonly holdMs: number;
  /** Aborts when the pause is over. */
  readonly over: AbortController;
}

/** Lets calls in, turns them away while the model is being updated, and knows when the last one has left. */
export class PauseGate {
  readonly #clock: Clock;
  #pause: Pause | null = null;
  #isClosed = false;
  #inFlight = 0;
  #emptied: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Turns new calls away for good: nobody lets them in again. */
  close(): void {
    this.pause({ reason: 'it is closing' });
    this.#isClosed = true;
  }

  /** Turns new calls away from now on. Pausing again changes how. */
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

  /** Lets calls in again. */
  resume(): void {
    if (this.#isClosed) return;
    this.#pause?.over.abort();
    this.#pause = null;
  }

  /**
   * Lets one call in; the returned function must be called when it has left.
   *
   * @param signal - ends the waiting of a call that is held back
   * @throws GatewayError while paused
   */
  async enter(signal: CallSignal): Promise<() => void> {
    if (this.#pause !== null) await this.#hold(this.#pause, signal);
    this.#inFlight += 1;
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#inFlight -= 1;
      if (this.#inFlight > 0) return;
      for (const notify of this.#emptied.splice(0)) notify();
    };
  }

  /**
   * Resolves when no call is in flight, and what is still being written about them has been.
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
      remedy: 'Wait longer, or close the gateway to cut them off.',
      details: { inFlight: this.#inFlight, timeoutMs },
    });
  }

  state(): GatewayState {
    return { isPaused: this.#pause !== null, reason: this.#pause?.reason ?? null, inFlight: this.#inFlight };
  }

  async #untilEmpty(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve));
  }

  async #hold(pause: Pause, signal: CallSignal): Promise<void> {
    if (pause.holdMs > 0) {
      const isOver = await this.#clock
        .sleep(pause.holdMs, AbortSignal.any([pause.over.signal, signal.abortSignal]))
        .then(
          () => false,
          () => true,
        );
      if (isOver && this.#pause === null) return;
    }
    throw new GatewayError({
      code: 'RESOURCE_EXHAUSTED',
      httpStatus: 429,
      type: 'paused',
      message: `the gateway is paused: ${pause.reason}`,
      remedy: `Try again in ${pause.retryAfterSeconds} s.`,
      headers: { 'retry-after': String(pause.retryAfterSeconds), 'x-agl-paused': 'true' },
    });
  }
}
