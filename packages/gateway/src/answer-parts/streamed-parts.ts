import { type JsonObject, parseJsonObject } from '@agentlightning/core';
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
  /** How much of the text has been told; null before the part has begun. */
  told: number | null;
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
    if (last?.kind === kind) last.text += text;
    else this.#parts.push({ kind, index: 0, id: '', name: '', text, told: null });
  }

  #addCall(delta: JsonObject): void {
    const target = objectOf(delta.function);
    const index = numberOf(delta.index) ?? (textOf(delta.id) ? this.#calls : Math.max(0, this.#calls - 1));
    if (this.#overCalls.has(index)) return;
    const call = this.#parts.find((part) => part.kind === 'call' && part.index === index) ?? this.#newCall(index);
    call.id ||= textOf(delta.id) ?? '';
    call.name ||= textOf(target.name) ?? '';
    call.text += textOf(target.arguments) ?? '';
  }

  #newCall(index: number): OpenPart {
    const call: OpenPart = { kind: 'call', index, id: '', name: '', text: '', told: null };
    this.#parts.push(call);
    this.#calls = Math.max(this.#calls, index + 1);
    return call;
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
    if (part.told === null) steps.push({ step: 'begin', head: this.#head(part) });
    const text = part.text.slice(part.told ?? 0);
    if (text !== '') steps.push({ step: 'extend', text });
    part.told = part.text.length;
  }

  #isOver(part: OpenPart): boolean {
    return this.#parts.length > 1 && (part.kind !== 'call' || parseJsonObject(part.text) !== null);
  }

  #head(part: OpenPart): PartHead {
    if (part.kind !== 'call') return { kind: part.kind };
    part.id ||= this.#newCallId(part.index);
    return { kind: 'call', id: part.id, name: part.name };
  }
}
