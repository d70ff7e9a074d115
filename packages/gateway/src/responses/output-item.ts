import type { JsonObject, JsonValue } from '@agentlightning/core';
import { encodeReasoning } from '../model-api/opaque-reasoning.ts';
import type { PartHead, ResponsePart } from '../response-parts/parts-of-message.ts';
import { itemId } from './response-ids.ts';
import { customInput, type RenamedTool, type RenamedTools } from './tools.ts';

/** Options of {@link outputItem}. */
export interface OutputOptions {
  readonly stem: string;
  /** Index in the output. */
  readonly index: number;
  /** The tools whose calls have another form. */
  readonly tools: RenamedTools;
  /** Whether reasoning is also returned encrypted, so that clients need not store it. */
  readonly isSealed: boolean;
  /** Whether the response is incomplete. */
  readonly isTruncated: boolean;
  /** `logprobs.content` of the chat response, if the client requested it; else none. */
  readonly logprobs: readonly JsonValue[];
}

/** Converts a part to a complete output item. */
export function outputItem(part: ResponsePart, options: OutputOptions): JsonObject {
  const begun = startedItem(part, options);
  const status = options.isTruncated ? 'incomplete' : 'completed';
  switch (part.kind) {
    case 'reasoning':
      return {
        ...begun,
        summary: [{ type: 'summary_text', text: part.text }],
        ...(options.isSealed ? { encrypted_content: encodeReasoning(part.text) } : {}),
      };
    case 'call':
      return begun.type === 'custom_tool_call'
        ? { ...begun, status, input: customInput(part.text) }
        : { ...begun, status, arguments: part.text };
    case 'text':
    case 'refusal':
      return { ...begun, status, content: [contentPart(part, options.logprobs)] };
  }
}

/** An item in its initial state. */
export function startedItem(
  head: PartHead,
  { stem, index, tools }: Pick<OutputOptions, 'stem' | 'index' | 'tools'>,
): JsonObject {
  const status = 'in_progress';
  switch (head.kind) {
    case 'reasoning':
      return { id: itemId('rs', stem, index), type: 'reasoning', summary: [] };
    case 'call':
      return startedCall(head, { id: itemId('fc', stem, index), status }, tools.get(head.name));
    case 'text':
    case 'refusal':
      return { id: itemId('msg', stem, index), type: 'message', status, role: 'assistant', content: [] };
  }
}

function startedCall(
  { id, name }: { readonly id: string; readonly name: string },
  item: { readonly id: string; readonly status: string },
  tool: RenamedTool | undefined,
): JsonObject {
  const namespace = tool === undefined || tool.namespace === null ? {} : { namespace: tool.namespace };
  const called = { call_id: id, name: tool?.name ?? name, ...namespace };
  if (tool?.isCustom === true) return { ...item, type: 'custom_tool_call', ...called, input: '' };
  return { ...item, type: 'function_call', arguments: '', ...called };
}

/** The content part of a message. */
export function contentPart(
  part: { readonly kind: string; readonly text: string },
  logprobs: readonly JsonValue[] = [],
): JsonObject {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text };
  return { type: 'output_text', annotations: [], logprobs, text: part.text };
}
