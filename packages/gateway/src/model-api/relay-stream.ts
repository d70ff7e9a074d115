import type { Readable } from 'node:stream';
import type { JsonObject } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { GatewayError } from '../wire/gateway-error.ts';
import type { SendChunk } from '../wire/response-stream.ts';
import { EventStreamReader } from '../wire/server-sent-events.ts';
import type { StreamConverter } from './stream-converter.ts';

/** The stream of an upstream that is captured while it is relayed to the client. */
export interface CapturedStream {
  readonly body: Readable;
  /** The upstream's base URL, for messages. */
  readonly address: string;
  /** Aborts when the client disconnects; with a `GatewayError` as reason when the gateway ends the call. */
  readonly signal: AbortSignal;
  /** Converts the upstream's events to the client's, and collects the record. */
  readonly stream: StreamConverter;
  /** Records a complete response; the end of the stream is held back until it resolves. */
  readonly record: (response: JsonObject) => Promise<void>;
  /** Records a response that broke off; `failure` is null when only its end marker is missing. */
  readonly recordFailed: (failure: string | null, response: JsonObject) => void;
}

/** How a stream ended. */
type StreamEnd =
  | { readonly kind: 'end'; readonly text: string }
  | { readonly kind: 'failure'; readonly message: string | null; readonly text: string };

/**
 * Relays a stream chunk by chunk, and records it. A stream that breaks off ends with an error in the client's format.
 *
 * @returns the end of the stream, once the call is recorded
 */
export async function relayStream(captured: CapturedStream, send: SendChunk): Promise<string> {
  const { body, stream } = captured;
  const end = await forwardEvents(captured, send);
  if (end.kind === 'failure') {
    body.destroy();
    captured.recordFailed(end.message, stream.recorded());
    return end.text;
  }
  // Reads the rest, so that the connection can be reused.
  body.resume();
  // The ending may hold the last part of the response, which the record needs.
  const ending = (stream.ending?.() ?? '') + end.text;
  try {
    await captured.record(stream.recorded());
    return ending;
  } catch (error) {
    return stream.broken(GatewayError.from(error));
  }
}

async function forwardEvents(captured: CapturedStream, send: SendChunk): Promise<StreamEnd> {
  const { body, stream, signal } = captured;
  const reader = new EventStreamReader();
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      const { text, end } = convert(stream, reader, chunk);
      if (end?.kind === 'failure') return { ...end, text: text + end.text };
      // Events before the end marker are sent at once, even if both arrive in one chunk.
      if (text !== '') await send(text);
      signal.throwIfAborted();
      if (end !== null) return end;
    }
  } catch (error) {
    return interrupted(captured, error);
  }
  // Some servers omit the end marker.
  if (stream.isFinished) return { kind: 'end', text: '' };
  return interrupted(captured, new Error('it closed the connection before the end'));
}

/** The client's text for a chunk of the upstream, up to the event that ends the response. */
function convert(
  stream: StreamConverter,
  reader: EventStreamReader,
  chunk: Uint8Array,
): { readonly text: string; readonly end: StreamEnd | null } {
  let text = '';
  for (const entry of reader.read(chunk)) {
    const taken = stream.take(entry);
    if (typeof taken !== 'string') return { text, end: taken };
    text += taken;
  }
  return { text, end: null };
}

function interrupted({ stream, address, signal }: CapturedStream, cause: unknown): StreamEnd {
  if (!signal.aborted) {
    const error = interruptedResponse(address, cause);
    return { kind: 'failure', message: error.message, text: stream.broken(error) };
  }
  // A client may disconnect, and its attempt end, once it has read the finish reason: then every token has arrived.
  const isWhole = stream.isFinished;
  const { reason } = signal;
  if (reason instanceof GatewayError) {
    return { kind: 'failure', message: isWhole ? null : reason.message, text: stream.broken(reason) };
  }
  return {
    kind: 'failure',
    message: isWhole ? null : 'the client disconnected before the response was complete',
    text: '',
  };
}

/** The error at the end of a stream whose upstream broke off. */
function interruptedResponse(address: string, cause: unknown): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${address} broke off its response: ${errorMessage(cause)}`,
    remedy: 'The response is incomplete; retry.',
    cause,
  });
}
