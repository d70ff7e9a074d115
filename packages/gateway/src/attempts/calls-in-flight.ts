import { GatewayError } from '../wire/gateway-error.ts';
import type { AttemptAddress } from './calling-attempt.ts';

/** An admitted model call. Disposing it releases its slot. */
export interface CallInFlight extends Disposable {
  /** Aborts when the client disconnects; with a `GatewayError` as reason when the gateway ends the call. */
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
}

/** Limits of the calls in flight. */
export interface CallLimits {
  readonly maxCalls: number;
  /** Limit of the bytes of their request bodies; a quarter of it applies to one attempt. */
  readonly maxBytes: number;
}

/** A call to admit. */
export interface CallToAdmit {
  readonly attempt: AttemptAddress | null;
  /** Aborts when the client disconnects. */
  readonly client: AbortSignal;
  readonly startTimeMs: number;
  /** Bytes of its request body. */
  readonly bytes: number;
}

interface KnownCall {
  readonly bytes: number;
  readonly attempt: AttemptAddress | null;
  readonly startTimeMs: number;
  readonly controller: AbortController;
  isInFlight: boolean;
  previous: KnownCall | null;
  next: KnownCall | null;
}

/**
 * The model calls in flight: limits their number and size, and aborts them. They form a linked list, oldest first: a `Set` with a
 * steady stream of insertions and deletions allocates a new table every few operations, and an old table that was
 * promoted keeps all later ones reachable until the next full collection.
 */
export class CallsInFlight {
  readonly #limits: CallLimits;
  readonly #bytesByAttempt: Map<string, number> = new Map();
  #bytes = 0;
  #count = 0;
  #first: KnownCall | null = null;
  #last: KnownCall | null = null;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  /** Attempts that have calls in flight. */
  get attempts(): readonly { readonly rolloutId: string; readonly attemptId: string }[] {
    const known = new Map<string, { readonly rolloutId: string; readonly attemptId: string }>();
    for (const { attempt } of this.#all()) {
      if (attempt === null) continue;
      const { rolloutId, attemptId } = attempt;
      known.set(`${rolloutId}/${attemptId}`, { rolloutId, attemptId });
    }
    return [...known.values()];
  }

  /** Admits a call. @throws GatewayError 429 at a limit */
  begin({ attempt, client, startTimeMs, bytes }: CallToAdmit): CallInFlight {
    this.#assertWithinLimits(attempt, bytes);
    const controller = new AbortController();
    const call: KnownCall = {
      attempt,
      bytes,
      startTimeMs,
      controller,
      isInFlight: true,
      previous: this.#last,
      next: null,
    };
    this.#add(call);
    const onGone = (): void => controller.abort(clientDisconnected());
    if (client.aborted) onGone();
    else client.addEventListener('abort', onGone, { once: true });
    return {
      signal: controller.signal,
      abort: (reason) => controller.abort(reason),
      [Symbol.dispose]: () => {
        client.removeEventListener('abort', onGone);
        this.#remove(call);
      },
    };
  }

  /** Ends the calls of a rollout, or of one attempt of it. */
  endRollout(rolloutId: string, attemptId: string | null, reason: GatewayError): void {
    for (const { attempt, controller } of this.#all()) {
      if (attempt?.rolloutId !== rolloutId || (attemptId !== null && attempt.attemptId !== attemptId)) continue;
      controller.abort(reason);
    }
  }

  /** Ends the calls that began before a time. */
  endOlderThan(timeMs: number, reason: () => GatewayError): void {
    for (const { startTimeMs, controller } of this.#all()) {
      if (startTimeMs > timeMs) return;
      if (!controller.signal.aborted) controller.abort(reason());
    }
  }

  /** Ends all calls. */
  endAll(reason: GatewayError): void {
    for (const { controller } of this.#all()) controller.abort(reason);
  }

  /** A copy: an aborted call may be removed during the iteration. */
  #all(): readonly KnownCall[] {
    const calls: KnownCall[] = [];
    for (let call = this.#first; call !== null; call = call.next) calls.push(call);
    return calls;
  }

  /** A single call is always admitted: the size of its body has a limit already. */
  #assertWithinLimits(attempt: AttemptAddress | null, bytes: number): void {
    const { maxCalls, maxBytes } = this.#limits;
    if (this.#count >= maxCalls) throw tooMany(maxCalls);
    if (this.#bytes > 0 && this.#bytes + bytes > maxBytes) throw tooLarge('all calls', maxBytes);
    const ofAttempt = attempt === null ? 0 : (this.#bytesByAttempt.get(keyOf(attempt)) ?? 0);
    if (ofAttempt > 0 && ofAttempt + bytes > maxBytes / 4) throw tooLarge('the calls of an attempt', maxBytes / 4);
  }

  #countBytes({ attempt, bytes }: KnownCall, sign: 1 | -1): void {
    this.#bytes += sign * bytes;
    if (attempt === null) return;
    const left = (this.#bytesByAttempt.get(keyOf(attempt)) ?? 0) + sign * bytes;
    if (left > 0) this.#bytesByAttempt.set(keyOf(attempt), left);
    else this.#bytesByAttempt.delete(keyOf(attempt));
  }

  #add(call: KnownCall): void {
    this.#count += 1;
    this.#countBytes(call, 1);
    if (this.#last === null) this.#first = call;
    else this.#last.next = call;
    this.#last = call;
  }

  #remove(call: KnownCall): void {
    if (!call.isInFlight) return;
    const { previous, next } = call;
    this.#count -= 1;
    this.#countBytes(call, -1);
    call.isInFlight = false;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    call.previous = null;
    call.next = null;
  }
}

/** The abort reason of a call whose client has disconnected. */
export function clientDisconnected(): Error {
  return new TypeError('the client has disconnected');
}

function tooMany(maxCalls: number): GatewayError {
  return new GatewayError({
    code: 'RESOURCE_EXHAUSTED',
    httpStatus: 429,
    type: 'rate_limit_error',
    message: `the limit of ${maxCalls} model calls in flight is reached`,
    remedy: 'Try again in a second, run fewer rollouts at a time, or raise the gateway option `maxCallsInFlight`.',
    headers: { 'retry-after': '1' },
  });
}

function tooLarge(calls: string, maxBytes: number): GatewayError {
  return new GatewayError({
    code: 'RESOURCE_EXHAUSTED',
    httpStatus: 429,
    type: 'rate_limit_error',
    message: `the request bodies of ${calls} in flight would be larger than ${Math.floor(maxBytes)} bytes`,
    remedy:
      'Try again in a second, run fewer rollouts at a time, or start the gateway with a larger heap (--max-old-space-size).',
    headers: { 'retry-after': '1' },
  });
}

function keyOf({ rolloutId, attemptId }: AttemptAddress): string {
  return `${rolloutId}/${attemptId}`;
}
