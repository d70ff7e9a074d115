import {
  type CapturedAnswer,
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  StreamedMessage,
} from '@agentlightning/core';
import { GatewayError } from '../gateway-error.ts';
import { EventStreamReader, type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { textOf } from '../http/json-access.ts';
import { brokenOff } from '../http/passed-stream.ts';
import type { StreamSource } from '../http/pulled-stream.ts';
import type { AddedFields } from './prepared-request.ts';
import { isOnlyUsage, visibleAnswer } from './visible-answer.ts';

/** What a captured stream works with. */
export interface CapturedStreamOptions {
  /** The upstream's bytes. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Where the tokens are collected. */
  readonly answer: CapturedAnswer;
  readonly added: AddedFields;
  /** The upstream's address, for messages. */
  readonly address: string;
  /** Called once when the first bytes come. */
  readonly onFirstBytes: () => void;
  /** Called once when the answer is whole; the end of the stream is held back until it resolves. */
  readonly onComplete: (response: JsonObject) => Promise<void>;
  /** Called once, instead, when the stream broke off; `failure` is null when only its end mark was missing. */
  readonly onBroken: (failure: string | null, response: JsonObject) => void;
}

/**
 * Hands a Chat Completions stream on, chunk by chunk as it comes, and collects its tokens on the way. The last
 * bytes leave when the call is recorded. A stream that breaks off ends with an error in OpenAI's form.
 */
export class CapturedStream implements StreamSource {
  readonly #options: CapturedStreamOptions;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #reader: EventStreamReader = new EventStreamReader();
  readonly #message: StreamedMessage = new StreamedMessage();
  #isOver = false;
  #hasBegun = false;
  #isAtEndMark = false;

  constructor(options: CapturedStreamOptions) {
    this.#options = options;
    this.#chunks = options.body[Symbol.asyncIterator]();
  }

  async next(): Promise<string | null> {
    while (!this.#isOver) {
      if (this.#isAtEndMark) return await this.#done();
      const chunk = await this.#read();
      if (chunk instanceof Error) return this.#broken(chunk);
      if (chunk === null) return await this.#ended();
      const text = this.#forward(this.#reader.read(chunk));
      if (text !== '') return text;
    }
    return null;
  }

  cancelled(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // An agent may go as soon as it has read why the answer ended: then every token has come.
    const failure = this.#options.answer.isFinished ? null : 'the agent hung up before the answer was whole';
    this.#options.onBroken(failure, this.#message.toBody());
  }

  async #read(): Promise<Uint8Array | Error | null> {
    try {
      const { value, done: isDone } = await this.#chunks.next();
      if (!this.#hasBegun) this.#options.onFirstBytes();
      this.#hasBegun = true;
      return isDone ? null : value;
    } catch (error) {
      return error instanceof Error ? error : new TypeError(String(error));
    }
  }

  /** What comes before the end mark leaves at once, also when both came in the same bytes. */
  #forward(entries: readonly StreamEntry[]): string {
    let text = '';
    for (const entry of entries) {
      this.#isAtEndMark ||= entry.kind === 'event' && entry.data === '[DONE]';
      if (this.#isOver || this.#isAtEndMark) break;
      text += this.#forwardEntry(entry);
    }
    return text;
  }

  #forwardEntry(entry: StreamEntry): string {
    const { added, answer } = this.#options;
    const chunk = entry.kind === 'event' ? parseJsonObject(entry.data) : null;
    if (entry.kind === 'comment' || chunk === null) return writeEntry(entry);
    if (isJsonObject(chunk.error)) {
      // The upstream tells itself what went wrong; its words are the best there are.
      this.#markBroken(textOf(chunk.error.message) ?? 'the upstream ended with an error');
      return writeEntry(entry);
    }
    answer.add(chunk);
    const visible = visibleAnswer(chunk, added);
    this.#message.add(visible);
    if (isOnlyUsage(chunk, added)) return '';
    return visible === chunk ? writeEntry(entry) : writeEntry({ ...entry, data: JSON.stringify(visible) });
  }

  async #done(): Promise<string> {
    const ending = await this.#complete('data: [DONE]\n\n');
    void this.#readOut();
    return ending;
  }

  /** Reads what may follow the end mark, so that the connection can be used again. */
  async #readOut(): Promise<void> {
    let chunk = await this.#read();
    while (chunk !== null && !(chunk instanceof Error)) chunk = await this.#read();
  }

  /** Some servers leave the end mark out; then an answer is whole when every choice says why it ended. */
  async #ended(): Promise<string | null> {
    if (!this.#options.answer.isFinished) return this.#broken('it closed the connection before the end');
    const text = await this.#complete('');
    return text === '' ? null : text;
  }

  async #complete(ending: string): Promise<string> {
    this.#isOver = true;
    try {
      await this.#options.onComplete(this.#message.toBody());
      return ending;
    } catch (error) {
      return errorEvent(GatewayError.from(error));
    }
  }

  #broken(cause: unknown): string | null {
    if (this.#isOver) return null;
    const error = brokenOff(this.#options.address, cause);
    this.#markBroken(error.message);
    return errorEvent(error);
  }

  #markBroken(failure: string): void {
    this.#isOver = true;
    this.#options.onBroken(failure, this.#message.toBody());
  }
}

function errorEvent(error: GatewayError): string {
  return `data: ${error.toBody()}\n\n`;
}
