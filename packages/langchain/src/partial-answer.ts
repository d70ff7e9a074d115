import type { JsonObject } from '@agentlightning/core';
import { StreamedMessage } from '@agentlightning/core/internal';
import { type MessageLike, reasoningOf } from './chat-message.ts';
import { jsonOf, textOf } from './framework-value.ts';

/** What we read of the pieces that an answer is streamed in. */
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

/** Puts a streamed answer together as far as it came. */
export class PartialAnswer {
  readonly #streamed: StreamedMessage = new StreamedMessage();
  readonly #choices: Set<number> = new Set();

  /** How many choices have begun. */
  get choiceCount(): number {
    return this.#choices.size;
  }

  /** Takes the next piece of a choice: its text, and whatever else it has. */
  take(index: number, content: string, { message = {}, generationInfo }: ChunkLike): void {
    this.#choices.add(index);
    const id = modelIdOf(message.id);
    const reasoning = reasoningOf(message);
    const delta = {
      // LangChain tells of the arguments of a tool call, and of thinking, as if they were text.
      content: Array.isArray(message.content) ? (textOf(message.text) ?? '') : content,
      ...(reasoning === null ? {} : { reasoning_content: reasoning }),
      tool_calls: (message.tool_call_chunks ?? []).map(toolCallOf),
    };
    const choice = { index, delta, finish_reason: textOf(generationInfo?.['finish_reason']) };
    this.#streamed.add({ ...(id === null ? {} : { id }), choices: [choice] });
  }

  /** The body so far, as it would be without streaming. */
  toBody(): JsonObject {
    return this.#streamed.toBody();
  }
}

/** An id that the model's server gave; null of one that LangChain made up where there was none. */
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
