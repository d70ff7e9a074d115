import type { JsonObject } from '../../base/json.ts';
import { type Fields, fieldsOf, hasFields, plainText } from '../../spans/unknown-value.ts';

/** A model response as content parts, in any of the formats that events and providers of the AI SDK use. */
export interface PartsResponse {
  readonly responseId?: string | undefined;
  readonly modelId?: string | undefined;
  readonly response?: { readonly id?: string | undefined; readonly modelId?: string | undefined } | undefined;
  readonly content?: unknown;
  /** The response text of an object. */
  readonly objectText?: string | undefined;
  readonly finishReason?: unknown;
  readonly usage?: unknown;
}

/** The body of the equivalent Chat Completions response. Undefined fields are kept, because readers and JSON ignore them. */
export function partsResponseBody(response: PartsResponse): JsonObject {
  const { content, finishReason, usage } = response;
  const message = content ?? response.objectText;
  const reason = fieldsOf(finishReason).unified ?? finishReason;
  const body: Fields = {
    id: response.responseId ?? response.response?.id,
    model: response.response?.modelId ?? response.modelId,
    // OpenAI's spelling, which gateways use.
    choices:
      message === undefined
        ? message
        : [{ finish_reason: reason && String(reason).replace('-', '_'), message: assistantMessage(message) }],
    usage: {
      prompt_tokens: tokenCount(fieldsOf(usage).inputTokens ?? fieldsOf(usage).tokens),
      completion_tokens: tokenCount(fieldsOf(usage).outputTokens),
    },
  };
  return body as JsonObject;
}

/** The Chat Completions message of an assistant, from a text, or from the parts of a message, a response or an event. */
export function assistantMessage(content: unknown): Fields {
  let text = '';
  let reasoning = '';
  const calls: Fields[] = [];
  for (const part of typeof content === 'string' ? [{ type: 'text', text: content }] : partsOf(content)) {
    if (part.type === 'tool-call') calls.push(toolCall(part));
    else if (part.type === 'text') text += String(part.text ?? '');
    else if (part.type === 'reasoning') reasoning += String(part.text ?? '');
  }
  return {
    role: 'assistant',
    content: text,
    reasoning_content: reasoning || undefined,
    tool_calls: calls,
  };
}

/** The parts in a list, or the only part. */
export function partsOf(value: unknown): readonly Fields[] {
  return (Array.isArray(value) ? value : [value]).filter(hasFields);
}

function toolCall({ toolCallId, toolName, input = '' }: Fields): Fields {
  return { id: toolCallId, type: 'function', function: { name: toolName, arguments: plainText(input) } };
}

/** Events have a number, providers an object with the total. */
function tokenCount(count: unknown): unknown {
  return fieldsOf(count).total ?? count;
}
