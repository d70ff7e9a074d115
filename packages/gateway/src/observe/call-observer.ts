import type { Clock } from '@agentlightning/core';
import type { GatewayLog } from '../gateway-options.ts';
import type { CallObservation } from './call-observation.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

/** To be told how one call goes on; each is called once, in either order. */
export interface CallReport {
  /** The answer's head has left. */
  readonly answered: (httpStatus: number) => void;
  /** The call is answered and recorded, or never will be. */
  readonly left: () => void;
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
    let leaveTimeMs: number | null = null;
    const tell = (): void => {
      if (status !== null && leaveTimeMs !== null) this.#tell(call, status, leaveTimeMs);
    };
    return {
      answered: (httpStatus) => {
        status = httpStatus;
        tell();
      },
      left: () => {
        if (leaveTimeMs !== null) return;
        leaveTimeMs = this.#clock.now();
        tell();
      },
    };
  }

  #tell(call: CallObservation, status: number, leaveTimeMs: number): void {
    const { startTimeMs, attempt, ...facts } = call;
    const durationMs = leaveTimeMs - startTimeMs;
    this.#metrics.callLeft(call, { httpStatus: status, durationMs });
    this.#log.debug?.({ ...facts, ...attempt, status, durationMs }, 'a model call');
  }
}
