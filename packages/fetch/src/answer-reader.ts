import type { JsonObject } from '@agentlightning/core';
import type { ModelApi } from '@agentlightning/core/adapter';
import { CapturedAnswer, errorMessageOf, isJsonObject, parseJsonObject } from '@agentlightning/core/internal';
import { createParser } from 'eventsource-parser';
import { type StreamedAnswer, streamedAnswer } from './streamed-answer.ts';

/** More bytes than this are handed on to the agent, but not kept. */
const maxCapturedBytes = 64 * 1024 * 1024;

/** Reads an answer, streamed or not, from the bytes that pass by on their way to the agent. */
export class AnswerReader {
  /** What the answer says about its tokens. */
  readonly captured: CapturedAnswer = new CapturedAnswer();
  readonly #decoder = new TextDecoder();
  readonly #streamed: StreamedAnswer | null;
  readonly #parser = createParser({ onEvent: ({ data }) => this.#takeEvent(data) });
  #text = '';
  #bytes = 0;
  #hasEndMark = false;
  #failure: string | null = null;

  constructor(api: ModelApi, isStreamed: boolean) {
    this.#streamed = isStreamed ? streamedAnswer(api) : null;
  }

  /** Takes the next bytes. Never throws. */
  take(bytes: Uint8Array): void {
    this.#bytes += bytes.byteLength;
    if (this.#bytes > maxCapturedBytes) {
      this.#failure ??= `the answer is longer than the ${maxCapturedBytes} bytes that are recorded`;
      return;
    }
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#streamed === null) this.#text += text;
    else this.#parser.feed(text);
  }

  /** No more bytes come: some servers leave out the empty line after their last event. */
  ended(): void {
    this.#parser.feed('\n\n');
  }

  /** Whether the answer is known to be whole before its bytes have ended. */
  get isWhole(): boolean {
    return (
      this.#hasEndMark || this.#streamed?.isWhole === true || (this.#streamed !== null && this.captured.isFinished)
    );
  }

  /** Whether a stream said that it ends here. */
  get hasEnded(): boolean {
    return this.#hasEndMark || this.#streamed?.isWhole === true;
  }

  /** What the answer itself says went wrong; null when it says nothing. */
  get failure(): string | null {
    return this.#failure;
  }

  /** The body so far, as it would be without streaming; null when there is none. */
  toBody(): JsonObject | null {
    if (this.#streamed !== null) return this.#streamed.toBody();
    const body = parseJsonObject(this.#text);
    if (body === null) return null;
    this.captured.add(body);
    this.#failure ??= errorMessageOf(body);
    return body;
  }

  #takeEvent(data: string): void {
    if (data === '[DONE]') {
      this.#hasEndMark = true;
      return;
    }
    const event = parseJsonObject(data);
    if (event === null) return;
    const failure = errorMessageOf(event);
    this.#failure ??= failure;
    // Some say what went wrong in the place of an answer, others in the last state of it.
    if (failure !== null && !isJsonObject(event.response)) return;
    this.captured.add(event);
    this.#streamed?.add(event);
  }
}
