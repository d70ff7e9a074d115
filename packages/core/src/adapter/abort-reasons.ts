import { errorMessage } from '../base/error-message.ts';
import type { RolloutContext } from '../tracing/rollout-context.ts';

/** Maximum depth of the `cause` chain that is searched for an abort reason: clients wrap the errors of `fetch`. */
const maxCauses = 5;

/** Abort signals observed in each attempt, keyed by the signal of the attempt. */
const seenSignals: WeakMap<AbortSignal, Set<AbortSignal>> = new WeakMap();

/** Registers an abort signal of the agent, so that errors from its abort are not classified as failures. */
export function noteSignal({ signal: attempt }: RolloutContext, signal: unknown): void {
  if (!(signal instanceof AbortSignal)) return;
  const seen = seenSignals.get(attempt);
  if (seen === undefined) seenSignals.set(attempt, new Set([signal]));
  else seen.add(signal);
}

/** A controller for a framework that accepts only its own: the agent's signal and the end of the attempt abort it. */
export function abortControllerWithin(context: RolloutContext, signal: unknown): AbortController {
  noteSignal(context, signal);
  const controller = new AbortController();
  for (const source of [signal, context.signal]) {
    if (!(source instanceof AbortSignal)) continue;
    const abort = (): void => controller.abort(source.reason);
    if (source.aborted) abort();
    else source.addEventListener('abort', abort, { once: true, signal: controller.signal });
  }
  return controller;
}

/** Whether an error is the reason of an aborted signal: of the attempt, or registered in it with `noteSignal`. */
export function isAbortReason({ signal: attempt }: RolloutContext, error: unknown): boolean {
  const signals = [attempt, ...(seenSignals.get(attempt) ?? [])].filter(({ aborted }) => aborted);
  if (signals.length === 0) return false;
  let current = error;
  for (let depth = 0; depth < maxCauses && current !== undefined && current !== null; depth += 1) {
    const candidate = current;
    if (signals.some(({ reason }) => isSame(reason, candidate))) return true;
    current = candidate instanceof Error ? candidate.cause : null;
  }
  return false;
}

/** Frameworks wrap string reasons in errors and report errors as strings, so strings are compared by message. */
function isSame(reason: unknown, error: unknown): boolean {
  if (reason === error) return true;
  return (typeof reason === 'string' || typeof error === 'string') && errorMessage(reason) === errorMessage(error);
}
