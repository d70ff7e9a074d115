import { messageOf } from '../exception-attributes.ts';
import type { RolloutContext } from '../rollout-context.ts';

/** How deep an error is searched for an abort's reason: clients wrap what `fetch` throws as a cause. */
const maxCauses = 5;

/** The abort signals that were seen in each attempt, by the signal of the attempt itself. */
const seenSignals: WeakMap<AbortSignal, Set<AbortSignal>> = new WeakMap();

/** Remembers an abort signal of the agent's own, so that what its abort throws is not taken for a failure. */
export function noteSignal({ signal: attempt }: RolloutContext, signal: unknown): void {
  if (!(signal instanceof AbortSignal)) return;
  const seen = seenSignals.get(attempt);
  if (seen === undefined) seenSignals.set(attempt, new Set([signal]));
  else seen.add(signal);
}

/** Whether an error is the reason of an abort, of a signal that was noted in this attempt or of the attempt's own. */
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

/** Frameworks make an error of a reason that is a text, or report an error by its text. */
function isSame(reason: unknown, error: unknown): boolean {
  if (reason === error) return true;
  return (typeof reason === 'string' || typeof error === 'string') && messageOf(reason) === messageOf(error);
}
