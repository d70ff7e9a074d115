import {
  type CapturedAnswer,
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  StreamedMessage,
} from '@agentlightning/core';
import type { GatewayError } from '../gateway-error.ts';
import { type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { textOf } from '../http/json-access.ts';
import type { AnswerStream } from '../model-api/answer-stream.ts';
import type { AddedFields } from './prepared-request.ts';
import { isOnlyUsage, visibleAnswer } from './visible-answer.ts';

/** A Chat Completions stream that reaches its client as it is, but for what only the gateway asked for. */
export class ChatStream implements AnswerStream {
  readonly #answer: CapturedAnswer;
  readonly #added: AddedFields;
  readonly #message: StreamedMessage = new StreamedMessage();
  #isAtEnd = false;
  #failure: string | null = null;

  /** @param answer - where the tokens are collected */
  constructor(answer: CapturedAnswer, added: AddedFields) {
    this.#answer = answer;
    this.#added = added;
  }

  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  /** An answer without an end mark is whole when every choice says why it ended. */
  get isFinished(): boolean {
    return this.#answer.isFinished;
  }

  get failure(): string | null {
    return this.#failure;
  }

  take(entry: StreamEntry): string {
    if (entry.kind === 'event' && entry.data === '[DONE]') {
      this.#isAtEnd = true;
      return '';
    }
    const chunk = entry.kind === 'event' ? parseJsonObject(entry.data) : null;
    if (entry.kind === 'comment' || chunk === null) return writeEntry(entry);
    if (isJsonObject(chunk.error)) {
      this.#failure = textOf(chunk.error.message) ?? 'the upstream ended with an error';
      return writeEntry(entry);
    }
    this.#answer.add(chunk);
    const visible = visibleAnswer(chunk, this.#added);
    this.#message.add(visible);
    if (isOnlyUsage(chunk, this.#added)) return '';
    return visible === chunk ? writeEntry(entry) : writeEntry({ ...entry, data: JSON.stringify(visible) });
  }

  ending(): string {
    return this.#isAtEnd ? 'data: [DONE]\n\n' : '';
  }

  broken(error: GatewayError): string {
    return chatErrorEvent(error);
  }

  recorded(): JsonObject {
    return this.#message.toBody();
  }
}

/** An error within a stream of Chat Completions, or of Completions. */
export function chatErrorEvent(error: GatewayError): string {
  return `data: ${error.toBody()}\n\n`;
}
