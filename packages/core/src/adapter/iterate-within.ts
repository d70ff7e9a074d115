/** Runs a function in some place, such as a step of a trace. */
export type Within = <TResult>(run: () => TResult) => TResult;

/**
 * The same values, each of which is made in its place: a generator does its work while it is asked for more, long after
 * the function that gave it has returned.
 *
 * @param values - what is iterated, once
 * @param within - runs what makes the next value
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
