import { errorBody } from './openai-error.ts';

const encoder = new TextEncoder();

/** The headers of an {@link eventStream} response. */
export const eventStreamHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } as const;

/**
 * Chunks as server-sent events in OpenAI's format, ending with `[DONE]`. An error becomes an event with `error`, which
 * OpenAI's clients throw. A disconnect ends the iteration.
 */
export function eventStream(chunks: AsyncIterable<object>): ReadableStream<Uint8Array> {
  return ReadableStream.from(events(chunks));
}

async function* events(chunks: AsyncIterable<object>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of chunks) yield event(JSON.stringify(chunk));
    yield event('[DONE]');
  } catch (error) {
    yield event(JSON.stringify(errorBody(error)));
  }
}

function event(data: string): Uint8Array {
  return encoder.encode(`data: ${data}\n\n`);
}
