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
