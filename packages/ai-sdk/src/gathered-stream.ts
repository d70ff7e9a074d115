import { fieldsOf, readThrough, type StreamTap } from '@agentlightning/core/adapter';

/** The ways to read a stream, or to leave it. */
const readings = ['pipeThrough', 'getReader', 'pipeTo', 'tee', 'cancel', Symbol.asyncIterator] as const;

/**
 * Looks at the stream in a provider's result as it passes by.
 *
 * It stays the same stream, and whoever reads it reads it through the tap: what is seen here may be a copy of the result,
 * without the user's credentials, and the framework reads the one in the original.
 *
 * @param result - what `doStream`, or `doGenerate`, gave
 * @returns whether it has a stream
 */
export function gatherStream(result: unknown, tap: () => StreamTap<unknown>): boolean {
  const { stream } = fieldsOf(result);
  // What is read already is recorded by the framework's events alone.
  if (!(stream instanceof ReadableStream) || stream.locked) return stream !== undefined;
  for (const name of readings) {
    const value = (...args: unknown[]): unknown => {
      for (const other of readings) Reflect.deleteProperty(stream, other);
      const through = readThrough(stream, tap());
      return Reflect.apply(through[name], through, args);
    };
    Object.defineProperty(stream, name, { configurable: true, value });
  }
  return true;
}
