import type { JsonObject } from '@agentlightning/core';
import { parseJsonObject } from '@agentlightning/core/internal';
import { numberOf, objectOf, objectsOf, textOf } from '../http/json-access.ts';
import type { AnswerPart, PartHead, PartStep } from './answer-part.ts';
import { type NewCallId, reasoningOf } from './parts-of-message.ts';

interface OpenPart {
  readonly kind: AnswerPart['kind'];
  /** Of a call: its place among the calls. */
  readonly index: number;
  id: string;
  name: string;
  text: string;
  /** What of the text has not been told. */
  untold: string;
  hasBegun: boolean;
}

/**
 * Tells the chunks of a Chat Completions stream as pieces that come one after another, each as early as possible.
 *
 * Chunks may mix the calls of one answer; other protocols cannot. So only the first piece that is not over is told
 * as it comes, and those behind it wait. A text is over when something else begins; a call when its arguments are
 * whole and something else has begun.
 */
export class StreamedParts {
  readonly #newCallId: NewCallId;
  readonly #parts: OpenPart[] = [];
  readonly #overCalls: Set<number> = new Set();
  #calls = 0;

  constructor(newCallId: NewCallId) {
    this.#newCallId = newCallId;
  }

  /** What a delta of the first choice tells. */
  take(delta: JsonObject): readonly PartStep[] {
    this.#addText('reasoning', reasoningOf(delta));
    this.#addText('text', textOf(delta.content));
    this.#addText('refusal', textOf(delta.refusal));
    for (const call of objectsOf(delta.tool_calls)) this.#addCall(call);
    return this.#tell(false);
  }

  /** What is left when the answer has ended. */
  end(): readonly PartStep[] {
    return this.#tell(true);
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

  #tell(isEnd: boolean): readonly PartStep[] {
    const steps: PartStep[] = [];
    for (let first = this.#parts[0]; first !== undefined; first = this.#parts[0]) {
      const isNamed = first.kind !== 'call' || first.name !== '';
      if (!isNamed && !isEnd) break;
      this.#tellMore(first, steps);
      if (!isEnd && !this.#isOver(first)) break;
      steps.push({ step: 'end', part: { ...this.#head(first), text: first.text } });
      this.#parts.shift();
      if (first.kind === 'call') this.#overCalls.add(first.index);
    }
    return steps;
  }

  #tellMore(part: OpenPart, steps: PartStep[]): void {
    if (!part.hasBegun) steps.push({ step: 'begin', head: this.#head(part) });
    if (part.untold !== '') steps.push({ step: 'extend', text: part.untold });
    part.hasBegun = true;
    part.untold = '';
  }

  #isOver(part: OpenPart): boolean {
    return this.#parts.length > 1 && (part.kind !== 'call' || isWholeObject(part.text));
  }

  #head(part: OpenPart): PartHead {
    if (part.kind !== 'call') return { kind: part.kind };
    part.id ||= this.#newCallId(part.index);
    return { kind: 'call', id: part.id, name: part.name };
  }
}

/** Both texts only grow at their end; cutting the whole one anew for each delta would copy it each time. */
function extend(part: OpenPart, text: string): void {
  part.text += text;
  part.untold += text;
}

/** Parsing is worth it only where the text may be whole. */
function isWholeObject(text: string): boolean {
  return text.trimEnd().endsWith('}') && parseJsonObject(text) !== null;
}
