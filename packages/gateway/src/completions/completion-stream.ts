import type { JsonObject } from '@agentlightning/core';
import { type CapturedResponse, isJsonObject, parseJsonObject } from '@agentlightning/core/internal';
import { chatEnd, chatErrorEvent, doneMarker } from '../chat-completions/chat-stream.ts';
import type { AddedFields } from '../chat-completions/prepared-request.ts';
import { isOnlyUsage, visibleResponse } from '../chat-completions/visible-response.ts';
import type { GatewayError } from '../gateway-error.ts';
import { type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { numberOf, objectsOf, textOf } from '../http/json-access.ts';
import { failureMessage, type LastEntry, type StreamConverter } from '../model-api/stream-converter.ts';
import { chatTokens } from './chat-tokens.ts';

/** A Completions stream that reaches its client unchanged, except for the fields that only the gateway requested. */
export class CompletionStream implements StreamConverter {
  readonly #captured: CapturedResponse;
  readonly #added: AddedFields;
  readonly #choices: Map<number, JsonObject> = new Map();
  #head: JsonObject = {};

  /** @param captured - collects the tokens */
  constructor(captured: CapturedResponse, added: AddedFields) {
    this.#captured = captured;
    this.#added = added;
  }

  get isFinished(): boolean {
    return this.#captured.isFinished;
  }

  take(entry: StreamEntry): string | LastEntry {
    if (entry.kind === 'comment') return writeEntry(entry);
    if (entry.data === doneMarker) return chatEnd;
    const chunk = parseJsonObject(entry.data);
    if (chunk === null) return writeEntry(entry);
    if (isJsonObject(chunk.error)) {
      return { kind: 'failure', message: failureMessage(chunk.error), text: writeEntry(entry) };
    }
    this.#captured.add(chatTokens(chunk));
    const visible = visibleResponse(chunk, this.#added);
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
