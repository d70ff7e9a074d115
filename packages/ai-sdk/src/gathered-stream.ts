import { hasFields, readThrough, type StreamTap } from '@agentlightning/core/adapter';

/**
 * Looks at the stream in a provider's result as it passes by.
 *
 * The result is changed in place, because the framework knows it by its identity.
 *
 * @param result - what `doStream`, or `doGenerate`, gave; without a stream it is left as it is
 * @returns whether it has a stream
 */
export function gatherStream(result: unknown, tap: () => StreamTap<unknown>): boolean {
  if (!hasFields(result) || !('stream' in result)) return false;
  const { stream } = result;
  // What is frozen, or read already, is recorded by the framework's events alone.
  const isOurs = stream instanceof ReadableStream && !stream.locked && !Object.isFrozen(result);
  if (isOurs) Reflect.set(result, 'stream', readThrough(stream, tap()));
  return true;
}
