import type { JsonObject } from '@agentlightning/core';
import type { PartHead, PartStep } from '../response-parts/parts-of-message.ts';
import { firstChoice, ResponseEnd } from '../response-parts/response-end.ts';
import { StreamedParts } from '../response-parts/streamed-parts.ts';
import { objectOf } from '../wire/json-access.ts';
import {
  contentBlock,
  isOmitted,
  isVisible,
  type MessageOptions,
  messageEnd,
  messageHead,
  messageUsage,
  newCallIdOf,
  signatureOf,
} from './message-body.ts';

/** Converts the chunks of a Chat Completions stream to Messages events, in Anthropic's order. */
export class MessageEvents {
  readonly #options: MessageOptions;
  readonly #parts: StreamedParts;
  readonly #end: ResponseEnd = new ResponseEnd();
  readonly #heads: PartHead[] = [];
  #hasStarted = false;
  #blocks = 0;

  constructor(options: MessageOptions) {
    this.#options = options;
    this.#parts = new StreamedParts(newCallIdOf(options.stem));
  }

  /** The events of a chunk. */
  take(chunk: JsonObject): readonly JsonObject[] {
    this.#end.add(chunk);
    const steps = this.#parts.take(objectOf(firstChoice(chunk).delta));
    return [...this.#opening(chunk), ...this.#emit(steps)];
  }

  /** The last events of a complete response. */
  ending(): readonly JsonObject[] {
    const delta = (): JsonObject => messageEnd(this.#heads, this.#end, this.#options.request);
    return [
      ...this.#opening({}),
      ...this.#emit(this.#parts.end()),
      { type: 'message_delta', delta: delta(), usage: messageUsage(this.#end) },
      { type: 'message_stop' },
    ];
  }

  #opening(chunk: JsonObject): readonly JsonObject[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    const usage = { ...messageUsage(this.#end), output_tokens: 0 };
    return [{ type: 'message_start', message: { ...messageHead(chunk, this.#options), usage } }];
  }

  #emit(steps: readonly PartStep[]): readonly JsonObject[] {
    return steps.flatMap((step) => this.#emitStep(step));
  }

  #emitStep(step: PartStep): readonly JsonObject[] {
    if (step.step === 'begin') this.#heads.push(step.head);
    const head = this.#heads.at(-1);
    if (head === undefined || !isVisible(head, this.#options.request)) return [];
    const index = this.#blocks;
    if (step.step === 'begin') {
      const start = { type: 'content_block_start', index, content_block: startedBlock(head) };
      return index === 0 ? [start, { type: 'ping' }] : [start];
    }
    const areThoughtsOmitted = isOmitted(this.#options.request);
    if (step.step === 'extend') {
      if (head.kind === 'reasoning' && areThoughtsOmitted) return [];
      return [{ type: 'content_block_delta', index, delta: blockDelta(head, step.text) }];
    }
    this.#blocks += 1;
    const stop = { type: 'content_block_stop', index };
    if (step.part.kind !== 'reasoning') return [stop];
    const signature = { type: 'signature_delta', signature: signatureOf(step.part.text, areThoughtsOmitted) };
    return [{ type: 'content_block_delta', index, delta: signature }, stop];
  }
}

function startedBlock(head: PartHead): JsonObject {
  const block = contentBlock({ ...head, text: '' }, false);
  return head.kind === 'reasoning' ? { ...block, signature: '' } : block;
}

function blockDelta(head: PartHead, text: string): JsonObject {
  switch (head.kind) {
    case 'reasoning':
      return { type: 'thinking_delta', thinking: text };
    case 'call':
      return { type: 'input_json_delta', partial_json: text };
    case 'text':
    case 'refusal':
      return { type: 'text_delta', text };
  }
}
