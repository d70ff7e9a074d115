import type { JsonObject } from '@agentlightning/core';
import {
  errorMessageOf,
  objectsOf,
  parseJsonObject,
  StreamedMessage,
  StreamedResponse,
} from '@agentlightning/core/internal';

/** Response bytes beyond this limit are forwarded to the agent but not recorded. */
const maxKeptBytes = 16 * 1024 * 1024;

/** The received part of a response. */
export interface ReceivedResponse {
  readonly body: JsonObject;
  readonly isWhole: boolean;
  /** The error that a stream reports; null without an error. */
  readonly failure: string | null;
}

/**
 * The HTTP request and response of one model call. The framework's spans omit the tools of a request and the received part
 * of an interrupted response; without sensitive data, they omit even the response id.
 *
 * Bytes are stored as they arrive. They are parsed after the call has ended, and only if the framework's span has no data.
 */
export class HttpExchange {
  #requestText: string | null = null;
  #request: JsonObject | null = null;
  #chunks: Uint8Array[] = [];
  /** A response body that was read at once. */
  #text: string | null = null;
  #bytes = 0;
  #isEnded = false;

  /** The request body; null if it is unknown. */
  get request(): JsonObject | null {
    if (this.#request === null && this.#requestText !== null) this.#request = parseJsonObject(this.#requestText);
    return this.#request;
  }

  /** Records a request; a retry replaces the previous request. */
  sent(body: unknown): void {
    if (typeof body === 'string') this.#requestText = body;
    this.#request = null;
    this.#chunks = [];
    this.#text = null;
    this.#bytes = 0;
    this.#isEnded = false;
  }

  /** Records a request body that has been parsed already. */
  readRequest(body: JsonObject): void {
    this.#request = body;
  }

  /** Records response bytes. */
  take(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes <= maxKeptBytes) this.#chunks.push(chunk);
  }

  /** Records a complete response body. */
  takeWhole(text: string): void {
    if (text.length <= maxKeptBytes) this.#text = text;
    this.#isEnded = true;
  }

  /** The response body has ended normally. */
  ended(): void {
    this.#isEnded = true;
  }

  /** The response so far; null before its first byte. */
  readResponse(): ReceivedResponse | null {
    const decoder = new TextDecoder();
    const text = this.#text ?? this.#chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('');
    if (text === '') return null;
    const plain = parseJsonObject(text);
    if (plain !== null) return { body: plain, isWhole: this.#isEnded, failure: errorMessageOf(plain) };
    return readEvents(text);
  }
}

function readEvents(text: string): ReceivedResponse | null {
  const data = text.split(/\r?\n\r?\n/).flatMap(dataOf);
  const events = data.map(parseJsonObject).filter((event) => event !== null);
  const failure = events.map(errorMessageOf).find((message) => message !== null) ?? null;
  const isResponses = events.some(({ type }) => typeof type === 'string' && type.startsWith('response.'));
  const parts = isResponses ? events : events.filter(({ choices }) => Array.isArray(choices));
  if (parts.length === 0) return failure === null ? null : { body: {}, isWhole: false, failure };
  const response = isResponses ? new StreamedResponse() : new StreamedMessage();
  for (const part of parts) response.add(part);
  const isWhole =
    response instanceof StreamedResponse ? response.isWhole : data.includes('[DONE]') || parts.some(hasFinished);
  return { body: response.toBody(), isWhole, failure };
}

function hasFinished({ choices }: JsonObject): boolean {
  return objectsOf(choices).some((choice) => Boolean(choice.finish_reason));
}

/** The data of a stream event; the last one may be incomplete. */
function dataOf(event: string): readonly string[] {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? [] : [lines.map((line) => line.slice('data:'.length).trimStart()).join('\n')];
}
