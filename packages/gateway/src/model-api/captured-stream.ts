import type { JsonObject } from '@agentlightning/core';
import { GatewayError } from '../gateway-error.ts';
import { EventStreamReader, type StreamEntry } from '../http/event-stream.ts';
import { brokenOff } from '../http/passed-stream.ts';
import type { CutSource } from '../http/pulled-stream.ts';
import type { UpstreamStream } from '../upstream/upstream-stream.ts';
import type { AnswerStream, LastEntry } from './answer-stream.ts';

/** What a captured stream works with. */
export interface CapturedStreamOptions {
  /** The upstream's bytes. */
  readonly body: Pick<UpstreamStream, 'read'>;
  /** What the client gets of them, and what is recorded. */
  readonly stream: AnswerStream;
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
 * Hands the stream of an answer on, chunk by chunk as it comes, and collects it on the way. The last bytes leave when
 * the call is recorded. A stream that breaks off ends with an error in the client's form.
 */
export class CapturedStream implements CutSource {
  readonly #options: CapturedStreamOptions;
  readonly #stream: AnswerStream;
  readonly #reader: EventStreamReader = new EventStreamReader();
  #isOver = false;
  #hasBegun = false;
  /** What the client gets for the entry that ended the answer; null until there is one. */
  #heldBack: string | null = null;
  /** What is still to be said to the reader of a stream that was cut. */
  #parting: string | null = null;

  constructor(options: CapturedStreamOptions) {
    this.#options = options;
    this.#stream = options.stream;
  }

  async next(): Promise<string | null> {
    while (!this.#isOver) {
      if (this.#heldBack !== null) return await this.#done(this.#heldBack);
      const chunk = await this.#read();
      if (this.#isOver) break;
      if (chunk instanceof Error) return this.#broken(chunk);
      if (chunk === null) return await this.#ended();
      const text = this.#forward(this.#reader.read(chunk));
      if (text !== '') return text;
    }
    return this.#takeParting();
  }

  cancelled(): void {
    if (this.#isOver) return;
    // An agent may go as soon as it has read why the answer ended: then every token has come.
    this.#markBroken(this.#stream.isFinished ? null : 'the agent hung up before the answer was whole');
  }

  /** The gateway ends the call; its reader is told why, when it reads on. */
  cut(error: GatewayError): void {
    if (this.#isOver) return;
    this.#parting = this.#stream.broken(error);
    // An agent may be done, and its attempt over, as soon as it has read why the answer ended.
    this.#markBroken(this.#stream.isFinished ? null : error.text);
  }

  #takeParting(): string | null {
    const parting = this.#parting;
    this.#parting = null;
    return parting;
  }

  async #read(): Promise<Uint8Array | Error | null> {
    try {
      const bytes = await this.#options.body.read();
      if (!this.#hasBegun) this.#options.onFirstBytes();
      this.#hasBegun = true;
      return bytes;
    } catch (error) {
      return error instanceof Error ? error : new TypeError(String(error));
    }
  }

  /** What comes before the end mark leaves at once, also when both came in the same bytes. */
  #forward(entries: readonly StreamEntry[]): string {
    let text = '';
    for (const entry of entries) {
      if (this.#isOver || this.#heldBack !== null) break;
      const taken = this.#stream.take(entry);
      text += typeof taken === 'string' ? taken : this.#forwardLast(taken);
    }
    return text;
  }

  #forwardLast(entry: LastEntry): string {
    if (entry.kind === 'failure') {
      this.#markBroken(entry.words);
      return entry.text;
    }
    this.#heldBack = entry.text;
    return '';
  }

  async #done(heldBack: string): Promise<string> {
    const ending = await this.#complete(heldBack);
    void this.#readOut();
    return ending;
  }

  /** Reads what may follow the end mark, so that the connection can be used again. */
  async #readOut(): Promise<void> {
    let chunk = await this.#read();
    while (chunk !== null && !(chunk instanceof Error)) chunk = await this.#read();
  }

  /** Some servers leave the end mark out. */
  async #ended(): Promise<string | null> {
    if (!this.#stream.isFinished) return this.#broken('it closed the connection before the end');
    const text = await this.#complete('');
    return text === '' ? null : text;
  }

  async #complete(heldBack: string): Promise<string> {
    this.#isOver = true;
    // The ending may hold the last of the answer, which the record must have.
    const ending = (this.#stream.ending?.() ?? '') + heldBack;
    try {
      await this.#options.onComplete(this.#stream.recorded());
      return ending;
    } catch (error) {
      return this.#stream.broken(GatewayError.from(error));
    }
  }

  #broken(cause: unknown): string | null {
    const error = brokenOff(this.#options.address, cause);
    this.#markBroken(error.message);
    return this.#stream.broken(error);
  }

  #markBroken(failure: string | null): void {
    this.#isOver = true;
    this.#options.onBroken(failure, this.#stream.recorded());
  }
}
