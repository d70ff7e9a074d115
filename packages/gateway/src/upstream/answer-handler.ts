import type { Clock } from '@agentlightning/core';
import type { Dispatcher } from 'undici';
import { isAnsweredHeader } from '../http/forwarded-headers.ts';
import { wholeText } from '../http/whole-text.ts';
import { UpstreamStream } from './upstream-stream.ts';

/** An upstream's answer. */
export interface UpstreamAnswer {
  readonly status: number;
  /** By lower-case name; only those that the caller may have use for. */
  readonly headers: Readonly<Record<string, string>>;
  /** The upstream's own id of the request; null when it gave none. */
  readonly requestId: string | null;
  /** When its head came, in Unix milliseconds. */
  readonly headTimeMs: number;
  /** The whole body, or the events that are still to come. */
  readonly body: string | UpstreamStream;
}

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** What takes an answer to those who wait for it. */
export interface AnswerHandlerOptions {
  readonly clock: Clock;
  readonly resolve: (answer: UpstreamAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Takes one answer from the connection: a stream of events as it begins, any other when it is whole. It is told by
 * the HTTP client itself, because a readable stream for each answer would cost more than to receive it.
 */
export class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #options: AnswerHandlerOptions;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #head: Omit<UpstreamAnswer, 'body'> | null = null;
  #stream: UpstreamStream | null = null;
  #abortedFor: Error | null = null;
  #isOver = false;

  constructor(options: AnswerHandlerOptions) {
    this.#options = options;
  }

  /** Ends the request, wherever it is; those who wait are told at once. */
  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#abortedFor = reason;
    this.#fail(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abortedFor !== null) controller.abort(this.#abortedFor);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // What comes before an answer, such as 103, is none.
    if (status < 200 || this.#isOver) return;
    const requestId = headers['x-request-id'] ?? headers['request-id'];
    this.#head = {
      status,
      headers: answeredHeaders(headers),
      requestId: typeof requestId === 'string' ? requestId.slice(0, 128) : null,
      headTimeMs: this.#options.clock.now(),
    };
    if (status >= 300 || this.#head.headers['content-type']?.startsWith('text/event-stream') !== true) return;
    this.#stream = new UpstreamStream(controller);
    this.#options.resolve({ ...this.#head, body: this.#stream });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream === null) this.#chunks.push(chunk);
    else this.#stream.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#stream !== null) this.#stream.end();
    else if (this.#head !== null) this.#options.resolve({ ...this.#head, body: wholeText(this.#chunks) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#stream === null) this.#options.reject(error);
    else this.#stream.fail(error);
  }
}

function answeredHeaders(headers: Headers): Record<string, string> {
  const answered: Record<string, string> = {};
  for (const name in headers) {
    if (!isAnsweredHeader(name)) continue;
    const value = headers[name];
    if (value !== undefined) answered[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return answered;
}
