import type { ResponseStream, SendChunk } from './response-stream.ts';

/** The response to a model call. */
export interface CallResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, or the writer of a streamed one. */
  readonly body: string | StreamWriter;
}

/** Sends a streamed body. Resolves with the last text of the body once the call is complete and recorded. Never rejects. */
export type StreamWriter = (send: SendChunk) => Promise<string>;

/** A response with a whole body. */
export type WholeResponse = CallResponse & { readonly body: string };

/** A whole response as a web response. Statuses without a body get none, not even an empty one. */
export function toResponse({ status, headers, body }: WholeResponse): Response {
  return new Response(status === 204 || status === 205 ? null : body, { status, headers });
}

/** The head of a streamed response as a web response whose body is `stream`. */
export function toStreamedResponse({ status, headers }: CallResponse, stream: ResponseStream): Response {
  return new Response(stream.readable, {
    // A status without a body would discard the stream.
    status: status === 204 || status === 205 ? 200 : status,
    // The Node adapter buffers the first chunks of other streams to find out their length.
    headers: { ...headers, 'transfer-encoding': 'chunked' },
  });
}
