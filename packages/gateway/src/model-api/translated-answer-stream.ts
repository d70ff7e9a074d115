import type { JsonObject } from '@agentlightning/core';
import { type CapturedAnswer, isJsonObject, parseJsonObject, StreamedMessage } from '@agentlightning/core/internal';
import { endMark } from '../chat-completions/chat-stream.ts';
import { visibleAnswer } from '../chat-completions/visible-answer.ts';
import { GatewayError } from '../gateway-error.ts';
import { type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { objectOf, objectsOf } from '../http/json-access.ts';
import { type AnswerStream, failureWords, type LastEntry } from './answer-stream.ts';
import type { TranslatedStream } from './translation.ts';

const allTokens = { tokenIds: true, logprobs: true, usage: false };

/** A Chat Completions stream that reaches its client in the form of another API, and is recorded as it came. */
export class TranslatedAnswerStream implements AnswerStream {
  readonly #answer: CapturedAnswer;
  readonly #translated: TranslatedStream;
  readonly #message: StreamedMessage = new StreamedMessage();

  /** @param answer - where the tokens are collected */
  constructor(answer: CapturedAnswer, translated: TranslatedStream) {
    this.#answer = answer;
    this.#translated = translated;
  }

  get isFinished(): boolean {
    return this.#answer.isFinished;
  }

  take(entry: StreamEntry): string | LastEntry {
    // A comment only keeps the connection open, and may do so on the other side as well.
    if (entry.kind === 'comment') return writeEntry(entry);
    if (entry.data === endMark) return { kind: 'end', text: '' };
    if (entry.data.trim() === '') return '';
    const chunk = parseJsonObject(entry.data);
    // An answer with a piece left out must not look whole.
    if (chunk === null) return this.#failed('the upstream sent a chunk that is no JSON object');
    if (isJsonObject(chunk.error)) return this.#failed(failureWords(chunk.error));
    if (typeof chunk.error === 'string') return this.#failed(chunk.error);
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

  #failed(words: string): LastEntry {
    return { kind: 'failure', words, text: this.broken(failedWith(words)) };
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
