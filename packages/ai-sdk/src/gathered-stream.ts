import type { GatheredAnswer } from './gathered-answer.ts';

/** What gathers a stream's answer, and is told of its end. */
export interface StreamReader {
  readonly answer: GatheredAnswer;
  /** It was cut, or told of an error. */
  readonly failed: (error: unknown) => void;
  /** The reader does not want more. */
  readonly cancelled: () => void;
  /** All of it was read. */
  readonly ended: () => void;
}

/**
 * Gathers what the stream in a provider's result brings, as it passes by.
 *
 * The result is changed in place, because the framework knows it by its identity.
 *
 * @param result - what `doStream`, or `doGenerate`, gave; without a stream it is left as it is
 * @returns whether it has a stream
 */
export function gatherStream(result: unknown, reader: StreamReader): boolean {
  if (typeof result !== 'object' || result === null || !('stream' in result)) return false;
  const { stream } = result;
  // What is frozen, or read already, is recorded by the framework's events alone.
  const isOurs = stream instanceof ReadableStream && !stream.locked && !Object.isFrozen(result);
  if (isOurs) result.stream = passedBy(stream, reader);
  return true;
}

/** The same stream: read only as fast as its reader reads, and left when its reader leaves. */
function passedBy(stream: ReadableStream<unknown>, { answer, failed, cancelled, ended }: StreamReader): ReadableStream {
  const reader = stream.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            ended();
            controller.close();
          } else {
            answer.take(value);
            // What may come after it is no answer any more, and most agents do not wait for it.
            if (answer.error !== undefined) failed(answer.error);
            controller.enqueue(value);
          }
        } catch (error) {
          failed(error);
          throw error;
        }
      },
      cancel(reason) {
        cancelled();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
