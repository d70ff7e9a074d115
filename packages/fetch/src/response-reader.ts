import type { JsonObject } from '@agentlightning/core';
import type { ModelApi } from '@agentlightning/core/adapter';
import { CapturedResponse, errorMessageOf, isJsonObject, parseJsonObject } from '@agentlightning/core/internal';
import { createParser } from 'eventsource-parser';
import { assemblerFor, type StreamAssembler } from './stream-assembler.ts';

/** Bytes beyond this limit are forwarded to the agent but not recorded. */
const maxCapturedBytes = 64 * 1024 * 1024;

/** Parses a response body, streamed or not, while it is forwarded to the agent. */
export class ResponseReader {
  /** Token data from the response. */
  readonly captured: CapturedResponse = new CapturedResponse();
  readonly #decoder = new TextDecoder();
  readonly #streamed: StreamAssembler | null;
  readonly #parser = createParser({ onEvent: ({ data }) => this.#addEvent(data) });
  #text = '';
  #bytes = 0;
  #hasEndMarker = false;
  #failure: string | null = null;

  constructor(api: ModelApi, isStreamed: boolean) {
    this.#streamed = isStreamed ? assemblerFor(api) : null;
  }

  /** Consumes the next bytes. Never throws. */
  take(bytes: Uint8Array): void {
    this.#bytes += bytes.byteLength;
    if (this.#bytes > maxCapturedBytes) {
      this.#failure ??= `the response exceeds the recording limit of ${maxCapturedBytes} bytes`;
      return;
    }
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#streamed === null) this.#text += text;
    else this.#parser.feed(text);
  }

  /** Called after the last byte. Flushes the parser: some servers omit the empty line after the last event. */
  ended(): void {
    this.#parser.feed('\n\n');
  }

  /** Whether the response is complete, which may be known before the last byte. */
  get isWhole(): boolean {
    return (
      this.#hasEndMarker || this.#streamed?.isWhole === true || (this.#streamed !== null && this.captured.isFinished)
    );
  }

  /** Whether the stream has sent its end marker. */
  get hasEnded(): boolean {
    return this.#hasEndMarker || this.#streamed?.isWhole === true;
  }

  /** The error that the response reports; null without an error. */
  get failure(): string | null {
    return this.#failure;
  }

  /** The body so far, in its non-streaming form; null without a body. */
  toBody(): JsonObject | null {
    if (this.#streamed !== null) return this.#streamed.toBody();
    const body = parseJsonObject(this.#text);
    if (body === null) return null;
    this.captured.add(body);
    this.#failure ??= errorMessageOf(body);
    return body;
  }

  #addEvent(data: string): void {
    if (data === '[DONE]') {
      this.#hasEndMarker = true;
      return;
    }
    const event = parseJsonObject(data);
    if (event === null) return;
    const failure = errorMessageOf(event);
    this.#failure ??= failure;
    // Some APIs report an error instead of a response, others in the final state of the response.
    if (failure !== null && !isJsonObject(event.response)) return;
    this.captured.add(event);
    this.#streamed?.add(event);
  }
}
