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
  isInFlight: boolean;
  /** The call that came before, and the one that came after, of those that are in flight. */
  previous: KnownCall | null;
  next: KnownCall | null;
}

/**
 * The model calls that are in the gateway now: how many there may be, and how they are ended from outside. They are
 * linked to each other, and unlinked when they leave. A `Set` that calls pass through makes a new table every few
 * calls, and its old ones keep the new ones alive, with all of their calls, until the whole heap is collected.
 */
export class CallsInFlight {
  readonly #maxCalls: number;
  #count = 0;
  #first: KnownCall | null = null;
  #last: KnownCall | null = null;

  constructor(maxCalls: number) {
    this.#maxCalls = maxCalls;
  }

  get count(): number {
    return this.#count;
  }

  /** The attempts that have calls here. */
  get attempts(): readonly { readonly rolloutId: string; readonly attemptId: string }[] {
    const known = new Map<string, { readonly rolloutId: string; readonly attemptId: string }>();
    for (const { rolloutId, attemptId } of this.#all()) {
      if (rolloutId !== null && attemptId !== null) known.set(`${rolloutId}/${attemptId}`, { rolloutId, attemptId });
    }
    return [...known.values()];
  }

  /** Notes a call. @throws GatewayError 429 when there are too many */
  begin(attempt: AttemptAddress | null, caller: WaitingCaller, nowMs: number): CallInFlight {
    if (this.#count >= this.#maxCalls) throw tooMany(this.#maxCalls);
    const signal = new CallSignal();
    const call: KnownCall = {
      attemptId: attempt?.attemptId ?? null,
      rolloutId: attempt?.rolloutId ?? null,
      startTimeMs: nowMs,
      signal,
      isInFlight: true,
      previous: this.#last,
      next: null,
    };
    this.#add(call);
    caller.onGone(() => {
      if (call.isInFlight) signal.abort(new TypeError('the caller has gone'));
    });
    return { signal, end: () => this.#remove(call) };
  }

  /** Ends the calls of a rollout, or of one attempt of it. */
  endRollout(rolloutId: string, attemptId: string | null, reason: GatewayError): void {
    for (const call of this.#all()) {
      if (call.rolloutId !== rolloutId || (attemptId !== null && call.attemptId !== attemptId)) continue;
      call.signal.abort(reason);
    }
  }

  /** Ends the calls that came before a point in time. */
  endOlderThan(timeMs: number, reason: () => GatewayError): void {
    for (const call of this.#all()) {
      // The oldest come first.
      if (call.startTimeMs > timeMs) return;
      if (!call.signal.aborted) call.signal.abort(reason());
    }
  }

  /** Ends all of them. */
  endAll(reason: GatewayError): void {
    for (const call of this.#all()) call.signal.abort(reason);
  }

  /** As they are now, the oldest first: a call that is ended may leave at once. */
  #all(): readonly KnownCall[] {
    const calls: KnownCall[] = [];
    for (let call = this.#first; call !== null; call = call.next) calls.push(call);
    return calls;
  }

  #add(call: KnownCall): void {
    this.#count += 1;
    if (this.#last === null) this.#first = call;
    else this.#last.next = call;
    this.#last = call;
  }

  #remove(call: KnownCall): void {
    if (!call.isInFlight) return;
    const { previous, next } = call;
    this.#count -= 1;
    call.isInFlight = false;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    call.previous = null;
    call.next = null;
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
