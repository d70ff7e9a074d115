import { CallSignal } from './call-signal.ts';
import type { AttemptAddress } from './calling-attempt.ts';
import { GatewayError } from './gateway-error.ts';
import type { WaitingCaller } from './http/arrived-call.ts';

/** A model call that was let in and has not left. */
export interface CallInFlight {
  /** Aborts when the caller has gone; with a `GatewayError` as reason when the gateway ends the call. */
  readonly signal: CallSignal;
  /** To be called once, when the call has left. */
  readonly end: () => void;
}

interface KnownCall {
  readonly attemptId: string | null;
  readonly rolloutId: string | null;
  readonly startTimeMs: number;
  readonly signal: CallSignal;
}

/** The model calls that are in the gateway now: how many there may be, and how they are ended from outside. */
export class CallsInFlight {
  readonly #maxCalls: number;
  readonly #calls: Set<KnownCall> = new Set();

  constructor(maxCalls: number) {
    this.#maxCalls = maxCalls;
  }

  get count(): number {
    return this.#calls.size;
  }

  /** The attempts that have calls here. */
  get attempts(): readonly { readonly rolloutId: string; readonly attemptId: string }[] {
    const known = new Map<string, { readonly rolloutId: string; readonly attemptId: string }>();
    for (const { rolloutId, attemptId } of this.#calls) {
      if (rolloutId !== null && attemptId !== null) known.set(`${rolloutId}/${attemptId}`, { rolloutId, attemptId });
    }
    return [...known.values()];
  }

  /** Notes a call. @throws GatewayError 429 when there are too many */
  begin(attempt: AttemptAddress | null, caller: WaitingCaller, nowMs: number): CallInFlight {
    if (this.#calls.size >= this.#maxCalls) throw tooMany(this.#maxCalls);
    const signal = new CallSignal();
    const call: KnownCall = {
      attemptId: attempt?.attemptId ?? null,
      rolloutId: attempt?.rolloutId ?? null,
      startTimeMs: nowMs,
      signal,
    };
    this.#calls.add(call);
    caller.onGone(() => {
      if (this.#calls.has(call)) signal.abort(new TypeError('the caller has gone'));
    });
    return { signal, end: () => void this.#calls.delete(call) };
  }

  /** Ends the calls of a rollout, or of one attempt of it. */
  endRollout(rolloutId: string, attemptId: string | null, reason: GatewayError): void {
    for (const call of this.#calls) {
      if (call.rolloutId !== rolloutId || (attemptId !== null && call.attemptId !== attemptId)) continue;
      call.signal.abort(reason);
    }
  }

  /** Ends the calls that came before a point in time. */
  endOlderThan(timeMs: number, reason: () => GatewayError): void {
    for (const call of this.#calls) {
      // The oldest come first.
      if (call.startTimeMs > timeMs) return;
      if (!call.signal.aborted) call.signal.abort(reason());
    }
  }

  /** Ends all of them. */
  endAll(reason: GatewayError): void {
    for (const call of this.#calls) call.signal.abort(reason);
  }
}

function tooMany(maxCalls: number): GatewayError {
  return new GatewayError({
    code: 'RESOURCE_EXHAUSTED',
    httpStatus: 429,
    type: 'rate_limit_error',
    message: `${maxCalls} model calls are in flight already, as many as this gateway takes`,
    remedy: 'Try again in a second, run fewer rollouts at a time, or raise the gateway option `maxCallsInFlight`.',
    headers: { 'retry-after': '1' },
  });
}
