import type { JsonObject } from '@agentlightning/core';
import type { MessageLike } from './chat-message.ts';
import { fieldsOf, textOf } from './framework-value.ts';

/** What we read of the pieces that an answer is streamed in. */
export interface ChunkLike {
  readonly text?: unknown;
  readonly message?: MessageLike & { readonly tool_call_chunks?: readonly ToolCallChunkLike[] | undefined };
  readonly generationInfo?: Readonly<Record<string, unknown>> | undefined;
}

interface ToolCallChunkLike {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly args?: unknown;
}

interface PartialCall {
  id: string | null;
  name: string;
  args: string;
}

interface PartialChoice {
  text: string;
  reasoning: string;
  finishReason: string | null;
  readonly calls: Map<number, PartialCall>;
}

/** Puts a streamed answer together as far as it came. */
export class PartialAnswer {
  readonly #choices: Map<number, PartialChoice> = new Map();
  #id: string | null = null;

  /** How many choices have begun. */
  get choiceCount(): number {
    return this.#choices.size;
  }

  /** Takes the next piece. */
  take(text: string, index: number, chunk: ChunkLike): void {
    const { message } = chunk;
    this.#id ??= textOf(message?.id);
    const choice = this.#choice(index);
    choice.text += text;
    choice.reasoning += textOf(message?.additional_kwargs?.['reasoning_content']) ?? '';
    choice.finishReason ??= textOf(chunk.generationInfo?.['finish_reason']);
    for (const [position, call] of (message?.tool_call_chunks ?? []).entries()) {
      takeCall(choice, typeof call.index === 'number' ? call.index : position, call);
    }
  }

  /** The body so far, as it would be without streaming. */
  toBody(): JsonObject {
    const choices = [...this.#choices].sort(([a], [b]) => a - b);
    return {
      ...(isOfTheModel(this.#id) ? { id: this.#id } : {}),
      choices: choices.map(([index, choice]) => ({
        index,
        finish_reason: choice.finishReason,
        message: messageOf(choice),
      })),
    };
  }

  #choice(index: number): PartialChoice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const choice: PartialChoice = { text: '', reasoning: '', finishReason: null, calls: new Map() };
    this.#choices.set(index, choice);
    return choice;
  }
}

/** Whether an id is one that the model's server gave: LangChain makes one up where there is none. */
export function isOfTheModel(id: string | null): id is string {
  return id !== null && !/^(run-|lc_run-)/.test(id);
}

function takeCall(choice: PartialChoice, index: number, piece: ToolCallChunkLike): void {
  const call = choice.calls.get(index) ?? { id: null, name: '', args: '' };
  call.id ??= textOf(piece.id);
  call.name += textOf(piece.name) ?? '';
  call.args += textOf(piece.args) ?? '';
  choice.calls.set(index, call);
}

function messageOf({ text, reasoning, calls }: PartialChoice): JsonObject {
  const toolCalls = [...calls.values()].map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }));
  return {
    role: 'assistant',
    content: text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

/** The piece that LangChain tells of; null when it is none. */
export function chunkOf(fields: unknown): ChunkLike | null {
  const { chunk } = fieldsOf(fields);
  return typeof chunk === 'object' && chunk !== null ? chunk : null;
}
