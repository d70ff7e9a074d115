import { type StreamTap, tapStream } from '@agentlightning/core/adapter';
import { fieldsOf } from '@agentlightning/core/internal';

/** The methods that read or cancel a stream. */
const readings = ['pipeThrough', 'getReader', 'pipeTo', 'tee', 'cancel', Symbol.asyncIterator] as const;

/**
 * Observes the stream in a provider's result.
 *
 * The stream object stays the same, and its read methods are patched: the result may be a copy without the user's
 * credentials, while the framework reads the stream of the original.
 *
 * @param result - the result of `doStream` or `doGenerate`
 * @returns whether the result has a stream
 */
export function observeStream(result: unknown, tap: () => StreamTap<unknown>): boolean {
  const { stream } = fieldsOf(result);
  // A stream that is already locked is recorded from the framework's events only.
  if (!(stream instanceof ReadableStream) || stream.locked) return stream !== undefined;
  for (const name of readings) {
    const value = (...args: unknown[]): unknown => {
      for (const other of readings) Reflect.deleteProperty(stream, other);
      const through = tapStream(stream, tap());
      return Reflect.apply(through[name], through, args);
    };
    Object.defineProperty(stream, name, { configurable: true, value });
  }
  return true;
}
