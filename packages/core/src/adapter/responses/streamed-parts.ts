import { fieldsOf } from '../../spans/unknown-value.ts';
import type { PartsResponse } from './parts-response.ts';

/** A stream part of a provider of the AI SDK, in specification versions 2 to 4. */
interface StreamPart {
  readonly type?: string;
  readonly id?: string;
  readonly modelId?: string;
  readonly delta?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly finishReason?: unknown;
  readonly usage?: unknown;
  readonly error?: unknown;
}

/** Text, reasoning, or a tool call, as far as it was received. */
interface Content {
  readonly type: string;
  readonly toolCallId?: string | undefined;
  readonly toolName?: string | undefined;
  text?: string;
  input?: unknown;
}

/** The response fields besides its content. */
interface Head {
  responseId?: string | undefined;
  modelId?: string | undefined;
  finishReason?: unknown;
  usage?: unknown;
}

/** Assembles the stream parts of a provider of the AI SDK into the response, as far as received. */
export class StreamedParts {
  readonly #head: Head = {};
  readonly #content: Content[] = [];
  /** The error that the stream reported; undefined without an error. */
  error: unknown;

  /** Whether the provider has reported the finish reason. */
  get isWhole(): boolean {
    return this.#head.finishReason !== undefined;
  }

  /** Whether nothing was received. */
  get isEmpty(): boolean {
    return this.#head.responseId === undefined && this.#content.length === 0;
  }

  /** Adds the next stream part. This is a hot path: only the required fields are read. */
  take(next: unknown): void {
    const part: StreamPart = fieldsOf(next);
    switch (part.type) {
      case 'text-delta':
      case 'reasoning-delta':
        this.#append(part.type.slice(0, -'-delta'.length), part.delta);
        return;
      case 'tool-input-start':
      case 'tool-input-delta':
        this.#toolCall(part).input += part.delta ?? '';
        return;
      case 'tool-call':
        this.#toolCall(part).input = part.input;
        return;
      case 'response-metadata':
        this.#head.responseId ??= part.id;
        this.#head.modelId ??= part.modelId;
        return;
      case 'error':
        this.error = part.error ?? 'the stream reported an error';
        return;
      case 'finish':
        this.#head.finishReason = part.finishReason;
        this.#head.usage = part.usage;
    }
  }

  /** The response so far, including incomplete tool calls. */
  toResponse(): PartsResponse {
    return { ...this.#head, content: this.#content };
  }

  #append(type: string, delta = ''): void {
    const last = this.#content.at(-1);
    if (last?.type === type) last.text += delta;
    else this.#content.push({ type, text: delta });
  }

  /** The tool call of an id, created on first use. */
  #toolCall({ id, toolCallId = id, toolName }: StreamPart): Content {
    const begun = this.#content.find((content) => content.toolCallId === toolCallId && content.type === 'tool-call');
    const call = begun ?? { type: 'tool-call', toolCallId, toolName, input: '' };
    if (begun === undefined) this.#content.push(call);
    return call;
  }
}
