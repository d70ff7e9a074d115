import type { JsonObject } from '@agentlightning/core';
import { StreamedMessage } from '@agentlightning/core/internal';
import { type MessageLike, reasoningOf } from './chat-message.ts';
import { jsonOf, textOf } from './framework-value.ts';

/** The fields that are read of a response chunk. */
export interface ChunkLike {
  readonly message?: MessageLike & { readonly tool_call_chunks?: readonly ToolCallChunkLike[] | undefined };
  readonly generationInfo?: Readonly<Record<string, unknown>> | undefined;
}

interface ToolCallChunkLike {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly args?: unknown;
}

/** Assembles the received part of a streamed response. */
export class PartialResponse {
  readonly #streamed: StreamedMessage = new StreamedMessage();
  readonly #choices: Set<number> = new Set();

  /** The number of choices received so far. */
  get choiceCount(): number {
    return this.#choices.size;
  }

  /** Adds the next chunk of a choice. */
  take(index: number, content: string, { message = {}, generationInfo }: ChunkLike): void {
    this.#choices.add(index);
    const id = modelIdOf(message.id);
    const reasoning = reasoningOf(message);
    const delta = {
      // LangChain reports tool call arguments and reasoning as text.
      content: Array.isArray(message.content) ? (textOf(message.text) ?? '') : content,
      ...(reasoning === null ? {} : { reasoning_content: reasoning }),
      tool_calls: (message.tool_call_chunks ?? []).map(toolCallOf),
    };
    const choice = { index, delta, finish_reason: textOf(generationInfo?.['finish_reason']) };
    this.#streamed.add({ ...(id === null ? {} : { id }), choices: [choice] });
  }

  /** The body so far, in its non-streaming form. */
  toBody(): JsonObject {
    return this.#streamed.toBody();
  }
}

/** The response id from the model's server; null for an id that LangChain generated. */
export function modelIdOf(id: unknown): string | null {
  const given = textOf(id);
  return given === null || /^(lc_)?run-/.test(given) ? null : given;
}

function toolCallOf({ index, id, name, args }: ToolCallChunkLike): JsonObject {
  return {
    ...(typeof index === 'number' ? { index } : {}),
    id: jsonOf(id),
    type: 'function',
    function: { name: textOf(name) ?? '', arguments: textOf(args) ?? '' },
  };
}
