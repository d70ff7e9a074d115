import {
  type CapturedAnswer,
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  StreamedMessage,
} from '@agentlightning/core';
import { visibleAnswer } from '../chat-completions/visible-answer.ts';
import { GatewayError } from '../gateway-error.ts';
import { type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { objectOf, objectsOf, textOf } from '../http/json-access.ts';
import type { AnswerStream } from './answer-stream.ts';
import type { TranslatedStream } from './translation.ts';

const allTokens = { tokenIds: true, logprobs: true, usage: false };

/** A Chat Completions stream that reaches its client in the form of another API, and is recorded as it came. */
export class TranslatedAnswerStream implements AnswerStream {
  readonly #answer: CapturedAnswer;
  readonly #translated: TranslatedStream;
  readonly #message: StreamedMessage = new StreamedMessage();
  #isAtEnd = false;
  #failure: string | null = null;

  /** @param answer - where the tokens are collected */
  constructor(answer: CapturedAnswer, translated: TranslatedStream) {
    this.#answer = answer;
    this.#translated = translated;
  }

  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  get isFinished(): boolean {
    return this.#answer.isFinished;
  }

  get failure(): string | null {
    return this.#failure;
  }

  take(entry: StreamEntry): string {
    // A comment only keeps the connection open, and may do so on the other side as well.
    if (entry.kind === 'comment') return writeEntry(entry);
    if (entry.data === '[DONE]') this.#isAtEnd = true;
    const chunk = parseJsonObject(entry.data);
    if (chunk === null) return '';
    if (isJsonObject(chunk.error)) {
      this.#failure = textOf(chunk.error.message) ?? 'the upstream ended with an error';
      return this.broken(failedWith(this.#failure));
    }
    this.#answer.add(chunk);
    this.#message.add(visibleAnswer(chunk, allTokens));
    return written(this.#translated.take(chunk));
  }

  ending(): string {
    return written(this.#translated.ending());
  }

  broken(error: GatewayError): string {
    return written(this.#translated.broken(error));
  }

  recorded(): JsonObject {
    return this.#message.toBody();
  }
}

/** The whole of an answer as the stream that its client asked for, where the upstream does not stream. */
export function streamOfWhole(translated: TranslatedStream, body: JsonObject): string {
  const choices = objectsOf(body.choices).map(({ message, ...choice }) => ({ ...choice, delta: deltaOf(message) }));
  return written([...translated.take({ ...body, choices }), ...translated.ending()]);
}

/** In a stream, calls have their places with them. */
function deltaOf(message: JsonObject[string] | undefined): JsonObject {
  const { tool_calls: calls, ...rest } = objectOf(message);
  return { ...rest, tool_calls: objectsOf(calls).map((call, index) => ({ ...call, index })) };
}

/** Events whose type stands beside their data as well, as OpenAI's and Anthropic's have it. */
function written(events: readonly JsonObject[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

function failedWith(words: string): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: words,
    remedy: 'What came until then is not whole; make the call again.',
  });
}
