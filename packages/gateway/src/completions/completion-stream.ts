import type { JsonObject } from '@agentlightning/core';
import { type CapturedAnswer, isJsonObject, parseJsonObject } from '@agentlightning/core/internal';
import { chatEnd, chatErrorEvent, endMark } from '../chat-completions/chat-stream.ts';
import type { AddedFields } from '../chat-completions/prepared-request.ts';
import { isOnlyUsage, visibleAnswer } from '../chat-completions/visible-answer.ts';
import type { GatewayError } from '../gateway-error.ts';
import { type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { numberOf, objectsOf, textOf } from '../http/json-access.ts';
import { type AnswerStream, failureWords, type LastEntry } from '../model-api/answer-stream.ts';
import { chatTokens } from './chat-tokens.ts';

/** A Completions stream that reaches its client as it is, but for what only the gateway asked for. */
export class CompletionStream implements AnswerStream {
  readonly #answer: CapturedAnswer;
  readonly #added: AddedFields;
  readonly #choices: Map<number, JsonObject> = new Map();
  #head: JsonObject = {};

  /** @param answer - where the tokens are collected */
  constructor(answer: CapturedAnswer, added: AddedFields) {
    this.#answer = answer;
    this.#added = added;
  }

  get isFinished(): boolean {
    return this.#answer.isFinished;
  }

  take(entry: StreamEntry): string | LastEntry {
    if (entry.kind === 'comment') return writeEntry(entry);
    if (entry.data === endMark) return chatEnd;
    const chunk = parseJsonObject(entry.data);
    if (chunk === null) return writeEntry(entry);
    if (isJsonObject(chunk.error)) {
      return { kind: 'failure', words: failureWords(chunk.error), text: writeEntry(entry) };
    }
    this.#answer.add(chatTokens(chunk));
    const visible = visibleAnswer(chunk, this.#added);
    this.#add(visible);
    if (isOnlyUsage(chunk, this.#added)) return '';
    return visible === chunk ? writeEntry(entry) : writeEntry({ ...entry, data: JSON.stringify(visible) });
  }

  broken(error: GatewayError): string {
    return chatErrorEvent(error);
  }

  recorded(): JsonObject {
    const choices = [...this.#choices].sort(([left], [right]) => left - right).map(([, choice]) => choice);
    return { ...this.#head, choices };
  }

  #add({ choices, ...head }: JsonObject): void {
    this.#head = { ...this.#head, ...head };
    for (const { token_ids: _, prompt_token_ids: __, logprobs: ___, ...choice } of objectsOf(choices)) {
      const index = numberOf(choice.index) ?? 0;
      const text = (textOf(this.#choices.get(index)?.text) ?? '') + (textOf(choice.text) ?? '');
      this.#choices.set(index, { ...this.#choices.get(index), ...choice, text });
    }
  }
}
