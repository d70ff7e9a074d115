import type { Clock } from '@agentlightning/core';
import type { GatewayMetrics } from '../capture/gateway-metrics.ts';
import type { CallObservation } from '../wire/call-observation.ts';
import type { GatewayError } from '../wire/gateway-error.ts';
import type { GatewayLog } from '../wire/gateway-options.ts';

/** The progress of one call; each function is called once, in either order. */
export interface CallReport {
  /** The response head was sent; with the error of an error response. */
  readonly responded: (httpStatus: number, error?: GatewayError) => void;
  /** The call is complete and recorded, or failed. */
  readonly left: () => void;
}

interface CallEnd {
  readonly httpStatus: number;
  readonly durationMs: number;
  readonly failure: GatewayError | null;
}

/** Reports every finished call to log and metrics. */
export class CallObserver {
  readonly #clock: Clock;
  readonly #log: GatewayLog;
  readonly #metrics: GatewayMetrics;

  constructor(options: { readonly clock: Clock; readonly log: GatewayLog; readonly metrics: GatewayMetrics }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#metrics = options.metrics;
  }

  /** Observes a new call. */
  follow(call: CallObservation): CallReport {
    let status: number | null = null;
    let failure: GatewayError | null = null;
    let leaveTimeMs: number | null = null;
    const report = (): void => {
      if (status === null || leaveTimeMs === null) return;
      this.#report(call, { httpStatus: status, failure, durationMs: leaveTimeMs - call.startTimeMs });
    };
    return {
      responded: (httpStatus, error) => {
        status = httpStatus;
        failure = error ?? null;
        report();
      },
      left: () => {
        leaveTimeMs = this.#clock.now();
        report();
      },
    };
  }

  #report(call: CallObservation, { httpStatus, durationMs, failure }: CallEnd): void {
    this.#metrics.callFinished(call, { httpStatus, durationMs });
    if (httpStatus < 500 && this.#log.debug === undefined) return;
    const { startTimeMs: _, attempt, ...facts } = call;
    const entry = { ...facts, ...attempt, status: httpStatus, durationMs };
    if (httpStatus >= 500) this.#log.warn({ ...entry, err: failure }, 'a model call failed');
    else this.#log.debug?.(entry, 'a model call');
  }
}
