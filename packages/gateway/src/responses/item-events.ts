import type { JsonObject, JsonValue } from '@agentlightning/core';
import type { PartHead, ResponsePart } from '../response-parts/parts-of-message.ts';
import { contentPart } from './output-item.ts';

const summary = { summary_index: 0 };
const content = { content_index: 0 };

/** The events within an item of a Responses stream, without its id and index. */
export const itemEvents = {
  /** After the item was added. */
  begun(head: PartHead): readonly JsonObject[] {
    switch (head.kind) {
      case 'reasoning':
        return [
          { type: 'response.reasoning_summary_part.added', ...summary, part: { type: 'summary_text', text: '' } },
        ];
      case 'call':
        return [];
      case 'text':
      case 'refusal':
        return [{ type: 'response.content_part.added', ...content, part: contentPart({ kind: head.kind, text: '' }) }];
    }
  },

  /** For each delta. */
  extended(head: PartHead, delta: string): readonly JsonObject[] {
    switch (head.kind) {
      case 'reasoning':
        return [{ type: 'response.reasoning_summary_text.delta', ...summary, delta }];
      case 'call':
        return [{ type: 'response.function_call_arguments.delta', delta }];
      case 'refusal':
        return [{ type: 'response.refusal.delta', ...content, delta }];
      case 'text':
        return [{ type: 'response.output_text.delta', ...content, delta, logprobs: [] }];
    }
  },

  /** Before the item is done. */
  ended(part: ResponsePart, logprobs: readonly JsonValue[]): readonly JsonObject[] {
    const { text } = part;
    switch (part.kind) {
      case 'reasoning':
        return [
          { type: 'response.reasoning_summary_text.done', ...summary, text },
          { type: 'response.reasoning_summary_part.done', ...summary, part: { type: 'summary_text', text } },
        ];
      case 'call':
        return [{ type: 'response.function_call_arguments.done', name: part.name, arguments: text }];
      case 'refusal':
        return [
          { type: 'response.refusal.done', ...content, refusal: text },
          { type: 'response.content_part.done', ...content, part: contentPart(part) },
        ];
      case 'text':
        return [
          { type: 'response.output_text.done', ...content, text, logprobs },
          { type: 'response.content_part.done', ...content, part: contentPart(part, logprobs) },
        ];
    }
  },
} as const;

/** The events of a call of a custom tool, before the item is done. */
export function customInputEvents(input: string): readonly JsonObject[] {
  return [
    { type: 'response.custom_tool_call_input.delta', delta: input },
    { type: 'response.custom_tool_call_input.done', input },
  ];
}
