import type { JsonObject } from '@agentlightning/core';
import { objectsOf, StreamedResponse } from '@agentlightning/core/adapter';
import { errorMessageOf, parseJsonObject, StreamedMessage } from '@agentlightning/core/internal';

/** More bytes than this of an answer are handed on to the agent, but not kept. */
const maxKeptBytes = 16 * 1024 * 1024;

/** An answer as far as it came. */
export interface ReadAnswer {
  readonly body: JsonObject;
  readonly isWhole: boolean;
  /** What a stream says went wrong; null when it says nothing. */
  readonly failure: string | null;
}

/**
 * What went over the wire for one model call. The framework shows neither the tools of a request, nor what had come of
 * an answer that broke off; and with sensitive data off, not even the id of the answer.
 *
 * Bytes are only kept as they pass by. They are read when the call has ended, and only where the framework said nothing.
 */
export class HttpExchange {
  #requestText: string | null = null;
  #request: JsonObject | null = null;
  #chunks: Uint8Array[] = [];
  /** An answer that came in one piece. */
  #text: string | null = null;
  #bytes = 0;
  #isEnded = false;

  /** The body of the request; null when there is none that we know. */
  get request(): JsonObject | null {
    if (this.#request === null && this.#requestText !== null) this.#request = parseJsonObject(this.#requestText);
    return this.#request;
  }

  /** A request is sent; one that is sent again takes the place of the one before. */
  sent(body: unknown): void {
    if (typeof body === 'string') this.#requestText = body;
    this.#request = null;
    this.#chunks = [];
    this.#text = null;
    this.#bytes = 0;
    this.#isEnded = false;
  }

  /** Somebody has read the body of the request that is sent. */
  readRequest(body: JsonObject): void {
    this.#request = body;
  }

  /** Bytes of the answer pass by. */
  take(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes <= maxKeptBytes) this.#chunks.push(chunk);
  }

  /** The answer has come in one piece. */
  takeWhole(text: string): void {
    if (text.length <= maxKeptBytes) this.#text = text;
    this.#isEnded = true;
  }

  /** The answer's bytes have ended by themselves. */
  ended(): void {
    this.#isEnded = true;
  }

  /** The answer so far; null when nothing of one has come. */
  readAnswer(): ReadAnswer | null {
    const decoder = new TextDecoder();
    const text = this.#text ?? this.#chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('');
    if (text === '') return null;
    const plain = parseJsonObject(text);
    if (plain !== null) return { body: plain, isWhole: this.#isEnded, failure: errorMessageOf(plain) };
    return readEvents(text);
  }
}

function readEvents(text: string): ReadAnswer | null {
  const data = text.split(/\r?\n\r?\n/).flatMap(dataOf);
  const events = data.map(parseJsonObject).filter((event) => event !== null);
  const failure = events.map(errorMessageOf).find((message) => message !== null) ?? null;
  const isResponses = events.some(({ type }) => typeof type === 'string' && type.startsWith('response.'));
  const parts = isResponses ? events : events.filter(({ choices }) => Array.isArray(choices));
  if (parts.length === 0) return failure === null ? null : { body: {}, isWhole: false, failure };
  const answer = isResponses ? new StreamedResponse() : new StreamedMessage();
  for (const part of parts) answer.add(part);
  const isWhole =
    answer instanceof StreamedResponse ? answer.isWhole : data.includes('[DONE]') || parts.some(hasFinished);
  return { body: answer.toBody(), isWhole, failure };
}

function hasFinished({ choices }: JsonObject): boolean {
  return objectsOf(choices).some((choice) => Boolean(choice.finish_reason));
}

/** The data of one event of a stream; the last one may be torn. */
function dataOf(event: string): readonly string[] {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? [] : [lines.map((line) => line.slice('data:'.length).trimStart()).join('\n')];
}
