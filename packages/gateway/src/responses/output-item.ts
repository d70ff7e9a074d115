import type { JsonObject, JsonValue } from '@agentlightning/core';
import type { AnswerPart, PartHead } from '../answer-parts/answer-part.ts';
import { sealedReasoning } from '../model-api/sealed-reasoning.ts';
import { itemId } from './response-ids.ts';

/** What an item of an output is made with. */
export interface OutputOptions {
  readonly stem: string;
  /** Its place in the output. */
  readonly index: number;
  /** Whether thoughts also come as an opaque text that needs nothing stored. */
  readonly isSealed: boolean;
  /** Whether the answer stops before its end. */
  readonly isCut: boolean;
  /** `logprobs.content` of the chat answer, when the client asked for it; else none. */
  readonly logprobs: readonly JsonValue[];
}

/** An item of a response's output, whole. */
export function outputItem(part: AnswerPart, options: OutputOptions): JsonObject {
  const begun = begunItem(part, options);
  const status = options.isCut ? 'incomplete' : 'completed';
  switch (part.kind) {
    case 'reasoning':
      return {
        ...begun,
        summary: [{ type: 'summary_text', text: part.text }],
        ...(options.isSealed ? { encrypted_content: sealedReasoning(part.text) } : {}),
      };
    case 'call':
      return { ...begun, status, arguments: part.text };
    case 'text':
    case 'refusal':
      return { ...begun, status, content: [contentPart(part, options.logprobs)] };
  }
}

/** An item as it is when it begins. */
export function begunItem(head: PartHead, { stem, index }: Pick<OutputOptions, 'stem' | 'index'>): JsonObject {
  const status = 'in_progress';
  switch (head.kind) {
    case 'reasoning':
      return { id: itemId('rs', stem, index), type: 'reasoning', summary: [] };
    case 'call':
      return {
        id: itemId('fc', stem, index),
        type: 'function_call',
        status,
        arguments: '',
        call_id: head.id,
        name: head.name,
      };
    case 'text':
    case 'refusal':
      return { id: itemId('msg', stem, index), type: 'message', status, role: 'assistant', content: [] };
  }
}

/** The one part of a message's content. */
export function contentPart(
  part: { readonly kind: string; readonly text: string },
  logprobs: readonly JsonValue[] = [],
): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text };
  return { type: 'output_text', annotations: [], logprobs, text: part.text };
}
