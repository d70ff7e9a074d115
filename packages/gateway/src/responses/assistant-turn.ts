import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { isJsonList, textOf } from '../wire/json-access.ts';
import { customArguments, namespacedName } from './tools.ts';

/** An assistant message, assembled from Responses items. */
export class AssistantTurn {
  /** Common stem of the ids of the gateway's items of one response; null for other items. */
  readonly stem: string | null;
  #reasoning: string | null = null;
  #content: string | null = null;
  #refusal: string | null = null;
  readonly #calls: JsonObject[] = [];

  constructor(stem: string | null) {
    this.stem = stem;
  }

  /** Whether an item that does not follow tool results belongs to this turn. */
  takes(kind: 'reasoning' | 'text' | 'call', stem: string | null): boolean {
    if (stem !== null && this.stem !== null && stem !== this.stem) return false;
    // Results follow the calls; an item before them cannot start another message.
    if (this.#calls.length > 0 || kind === 'call') return true;
    const hasText = this.#content !== null || this.#refusal !== null;
    return kind === 'text' ? !hasText : !hasText && this.#reasoning === null;
  }

  addReasoning(text: string): void {
    this.#reasoning = joined(this.#reasoning, text, '\n');
  }

  addMessage(item: JsonObject): void {
    const { content } = item;
    if (typeof content === 'string') this.#content = joined(this.#content, content, '\n');
    for (const [index, part] of (isJsonList(content) ? content : []).entries()) this.#addPart(part, index);
  }

  addCall(item: JsonObject): void {
    const { namespace, input } = item;
    const name = textOf(item.name) ?? '';
    this.#calls.push({
      id: item.call_id ?? item.id ?? '',
      type: 'function',
      function: {
        name: typeof namespace === 'string' ? namespacedName(namespace, name) : name,
        arguments: item.type === 'custom_tool_call' ? customArguments(textOf(input) ?? '') : (item.arguments ?? ''),
      },
    });
  }

  toMessage(): JsonObject {
    return {
      role: 'assistant',
      content: this.#content ?? (this.#calls.length > 0 || this.#refusal !== null ? null : ''),
      ...(this.#refusal === null ? {} : { refusal: this.#refusal }),
      ...(this.#reasoning === null ? {} : { reasoning_content: this.#reasoning }),
      ...(this.#calls.length > 0 ? { tool_calls: this.#calls } : {}),
    };
  }

  #addPart(part: JsonValue, index: number): void {
    if (!isJsonObject(part)) return;
    const refusal = textOf(part.refusal);
    if (refusal !== null) this.#refusal = joined(this.#refusal, refusal, '');
    const text = textOf(part.text);
    // The parts of one message form one text; several messages do not.
    if (text !== null) this.#content = joined(this.#content, text, index === 0 ? '\n' : '');
  }
}

function joined(before: string | null, text: string, between: string): string {
  return before === null ? text : before + between + text;
}
