import type { AttributeValue, JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { TraceMessage, TraceMessagePart } from './trace-step.ts';

/** The messages in an attribute that holds them as OpenTelemetry's GenAI conventions say; empty when it does not. */
export function traceMessages(attribute: AttributeValue | undefined): readonly TraceMessage[] {
  const messages = jsonFrom(attribute);
  if (!Array.isArray(messages)) return [];
  return messages.filter(isJsonObject).map((message) => ({
    role: typeof message.role === 'string' ? message.role : 'assistant',
    parts: Array.isArray(message.parts) ? message.parts.filter(isJsonObject).map(partFrom) : [],
  }));
}

function partFrom(part: JsonObject): TraceMessagePart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: textOf(part.content) };
    case 'reasoning':
      return { type: 'reasoning', text: textOf(part.content) };
    case 'tool_call':
      return {
        type: 'tool-call',
        text: `${textOf(part.name)}(${textOf(part.arguments)})`,
        toolCall: { id: typeof part.id === 'string' ? part.id : null, name: textOf(part.name) },
      };
    case 'tool_call_response':
      return { type: 'tool-result', text: textOf(part.response ?? part.result) };
    default:
      return {
        type: 'attachment',
        text: [part.modality ?? part.type, part.mime_type ?? part.uri].map(textOf).join(' ').trim(),
      };
  }
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function jsonFrom(attribute: AttributeValue | undefined): JsonValue | undefined {
  if (typeof attribute !== 'string') return undefined;
  try {
    const value: JsonValue = JSON.parse(attribute);
    return value;
  } catch {
    // Not JSON: there are no messages to show. The attribute itself is still shown.
    return undefined;
  }
}
