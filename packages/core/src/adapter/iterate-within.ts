import { hasFields } from '../spans/unknown-value.ts';

/** Runs a function in a context, such as a step of a trace. */
export type Within = <TResult>(run: () => TResult) => TResult;

/**
 * Iterates the same values, each produced in the given context: a generator runs while it is iterated, long after the
 * call that returned it.
 *
 * @param values - iterated once
 * @param within - runs the function that produces the next value
 *
 * @example
 * ```ts
 * const placed = iterateWithin(tool.execute(input), (run) => steps.within(stepId, run));
 * ```
 */
export function iterateWithin<TValue>(values: AsyncIterable<TValue>, within: Within): AsyncIterableIterator<TValue> {
  const iterator = values[Symbol.asyncIterator]();
  const placed: AsyncIterableIterator<TValue> = {
    [Symbol.asyncIterator]: () => placed,
    next: () => within(() => iterator.next()),
    return: (value) => within(() => iterator.return?.(value) ?? Promise.resolve({ done: true, value })),
  };
  return placed;
}

/** Whether a value is an async iterable, such as a stream or an async generator. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return hasFields(value) && Symbol.asyncIterator in value;
}

/**
 * Iterates the same values, each reported before it is returned.
 *
 * @param take - must not throw
 */
export async function* tapIterable<TValue>(
  values: AsyncIterable<TValue>,
  take: (value: TValue) => void,
): AsyncGenerator<TValue, void> {
  for await (const value of values) {
    take(value);
    yield value;
  }
}
