import type { PauseGate } from '../attempts/pause-gate.ts';

/** Pause state in the 1.0 protocol. */
export interface WirePauseState {
  readonly paused: boolean;
  readonly retry_after_seconds: number;
  readonly reason: string | null;
  readonly inflight: number;
}

/** Pauses the gateway for a 1.0 trainer. */
export class ProxyPause {
  readonly #gate: Pick<PauseGate, 'pause' | 'resume' | 'state'>;
  #retryAfterSeconds = 5;
  #reason: string | null = null;

  constructor(gate: Pick<PauseGate, 'pause' | 'resume' | 'state'>) {
    this.#gate = gate;
  }

  pause(retryAfterSeconds: number, reason: string | null): WirePauseState {
    this.#retryAfterSeconds = retryAfterSeconds;
    this.#reason = reason;
    this.#gate.pause({ retryAfterSeconds, ...(reason === null ? {} : { reason }) });
    return this.state();
  }

  resume(): WirePauseState {
    this.#gate.resume();
    return this.state();
  }

  state(): WirePauseState {
    const { isPaused, inFlight } = this.#gate.state();
    return {
      paused: isPaused,
      retry_after_seconds: this.#retryAfterSeconds,
      reason: isPaused ? this.#reason : null,
      inflight: inFlight,
    };
  }
}
