import type { JsonObject } from '@agentlightning/core';
import { parseJsonObject } from '@agentlightning/core/internal';
import { numberOf, objectOf, objectsOf, textOf } from '../wire/json-access.ts';
import { type NewCallId, type PartHead, type PartStep, type ResponsePart, reasoningOf } from './parts-of-message.ts';

interface OpenPart {
  readonly kind: ResponsePart['kind'];
  /** Index of a tool call. */
  readonly index: number;
  id: string;
  name: string;
  text: string;
  /** The part of the text that was not emitted yet. */
  untold: string;
  hasBegun: boolean;
}

/**
 * Converts the chunks of a Chat Completions stream to consecutive parts, each emitted as early as possible.
 *
 * Chunks may interleave the tool calls of one response; other protocols cannot. So only the first open part is emitted
 * as it arrives, and those behind it are buffered. A text ends when another part starts; a tool call when its arguments
 * are complete and another part has started.
 */
export class StreamedParts {
  readonly #newCallId: NewCallId;
  readonly #parts: OpenPart[] = [];
  readonly #overCalls: Set<number> = new Set();
  #calls = 0;

  constructor(newCallId: NewCallId) {
    this.#newCallId = newCallId;
  }

  /** The steps of a delta of the first choice. */
  take(delta: JsonObject): readonly PartStep[] {
    this.#addText('reasoning', reasoningOf(delta));
    this.#addText('text', textOf(delta.content));
    this.#addText('refusal', textOf(delta.refusal));
    for (const call of objectsOf(delta.tool_calls)) this.#addCall(call);
    return this.#emit(false);
  }

  /** The remaining steps at the end of the response. */
  end(): readonly PartStep[] {
    return this.#emit(true);
  }

  #addText(kind: 'reasoning' | 'text' | 'refusal', text: string | null): void {
    if (text === null || text === '') return;
    const last = this.#parts.at(-1);
    extend(last?.kind === kind ? last : this.#newPart(kind, 0), text);
  }

  #addCall(delta: JsonObject): void {
    const target = objectOf(delta.function);
    const index = numberOf(delta.index) ?? (textOf(delta.id) ? this.#calls : Math.max(0, this.#calls - 1));
    if (this.#overCalls.has(index)) return;
    const call = this.#parts.find((part) => part.kind === 'call' && part.index === index) ?? this.#newCall(index);
    call.id ||= textOf(delta.id) ?? '';
    call.name ||= textOf(target.name) ?? '';
    extend(call, textOf(target.arguments) ?? '');
  }

  #newCall(index: number): OpenPart {
    this.#calls = Math.max(this.#calls, index + 1);
    return this.#newPart('call', index);
  }

  #newPart(kind: OpenPart['kind'], index: number): OpenPart {
    const part: OpenPart = { kind, index, id: '', name: '', text: '', untold: '', hasBegun: false };
    this.#parts.push(part);
    return part;
  }

  #emit(isEnd: boolean): readonly PartStep[] {
    const steps: PartStep[] = [];
    for (let first = this.#parts[0]; first !== undefined; first = this.#parts[0]) {
      const isNamed = first.kind !== 'call' || first.name !== '';
      if (!isNamed && !isEnd) break;
      this.#emitText(first, steps);
      if (!isEnd && !this.#hasEnded(first)) break;
      steps.push({ step: 'end', part: { ...this.#head(first), text: first.text } });
      this.#parts.shift();
      if (first.kind === 'call') this.#overCalls.add(first.index);
    }
    return steps;
  }

  #emitText(part: OpenPart, steps: PartStep[]): void {
    if (!part.hasBegun) steps.push({ step: 'begin', head: this.#head(part) });
    if (part.untold !== '') steps.push({ step: 'extend', text: part.untold });
    part.hasBegun = true;
    part.untold = '';
  }

  #hasEnded(part: OpenPart): boolean {
    return this.#parts.length > 1 && (part.kind !== 'call' || isWholeObject(part.text));
  }

  #head(part: OpenPart): PartHead {
    if (part.kind !== 'call') return { kind: part.kind };
    part.id ||= this.#newCallId(part.index);
    return { kind: 'call', id: part.id, name: part.name };
  }
}

/** Appends to both texts; slicing the whole text for each delta would copy it each time. */
function extend(part: OpenPart, text: string): void {
  part.text += text;
  part.untold += text;
}

/** Parses only texts that may be complete. */
function isWholeObject(text: string): boolean {
  return text.trimEnd().endsWith('}') && parseJsonObject(text) !== null;
}
