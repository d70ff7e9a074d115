import type { Clock } from '@agentlightning/core';
import type { GatewayError } from '../gateway-error.ts';
import type { GatewayLog } from '../gateway-options.ts';
import type { CallObservation } from './call-observation.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

/** To be told how one call goes on; each is called once, in either order. */
export interface CallReport {
  /** The answer's head has left; with the error that it tells of, if it does. */
  readonly answered: (httpStatus: number, error?: GatewayError) => void;
  /** The call is answered and recorded, or never will be. */
  readonly left: () => void;
}

interface CallEnd {
  readonly httpStatus: number;
  readonly durationMs: number;
  readonly failure: GatewayError | null;
}

/** Tells log and metrics of every call that has left. */
export class CallObserver {
  readonly #clock: Clock;
  readonly #log: GatewayLog;
  readonly #metrics: GatewayMetrics;

  constructor(options: { readonly clock: Clock; readonly log: GatewayLog; readonly metrics: GatewayMetrics }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#metrics = options.metrics;
  }

  /** Follows a call that has just come. */
  follow(call: CallObservation): CallReport {
    let status: number | null = null;
    let failure: GatewayError | null = null;
    let leaveTimeMs: number | null = null;
    const tell = (): void => {
      if (status === null || leaveTimeMs === null) return;
      this.#tell(call, { httpStatus: status, failure, durationMs: leaveTimeMs - call.startTimeMs });
    };
    return {
      answered: (httpStatus, error) => {
        status = httpStatus;
        failure = error ?? null;
        tell();
      },
      left: () => {
        if (leaveTimeMs !== null) return;
        leaveTimeMs = this.#clock.now();
        tell();
      },
    };
  }

  #tell(call: CallObservation, { httpStatus, durationMs, failure }: CallEnd): void {
    this.#metrics.callLeft(call, { httpStatus, durationMs });
    if (httpStatus < 500 && this.#log.debug === undefined) return;
    const { startTimeMs: _, attempt, ...facts } = call;
    const told = { ...facts, ...attempt, status: httpStatus, durationMs };
    if (httpStatus >= 500) this.#log.warn({ ...told, err: failure }, 'a model call failed');
    else this.#log.debug?.(told, 'a model call');
  }
}
