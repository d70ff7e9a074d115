import { fieldsOf } from '@agentlightning/core/adapter';
import type { SdkAnswer } from './sdk-events.ts';

/** A part of a stream as providers send it, of the second to the fourth version of their specification. */
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

/** A text, a piece of reasoning, or a tool call, of which as much has come as is here. */
interface Content {
  readonly type: string;
  readonly toolCallId?: string | undefined;
  readonly toolName?: string | undefined;
  text?: string;
  input?: unknown;
}

/** What is said of an answer before and after its content. */
interface Head {
  responseId?: string | undefined;
  modelId?: string | undefined;
  finishReason?: unknown;
  usage?: unknown;
}

/** What has come of a streamed answer so far. */
export class GatheredAnswer {
  readonly #head: Head = {};
  readonly #content: Content[] = [];
  /** What the stream said went wrong; undefined when nothing did. */
  error: unknown;

  /** Whether the provider said how the answer ended. */
  get isWhole(): boolean {
    return this.#head.finishReason !== undefined;
  }

  /** Whether nothing has come. */
  get isEmpty(): boolean {
    return this.#head.responseId === undefined && this.#content.length === 0;
  }

  /** Takes in the next part of a stream. What a part does not need is not looked for in it: there are many. */
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
        this.error = part.error ?? 'the stream told of an error';
        return;
      case 'finish':
        this.#head.finishReason = part.finishReason;
        this.#head.usage = part.usage;
    }
  }

  /** The answer so far; tool calls that broke off are in it with the input that came. */
  toAnswer(): SdkAnswer {
    return { ...this.#head, content: this.#content };
  }

  #append(type: string, delta = ''): void {
    const last = this.#content.at(-1);
    if (last?.type === type) last.text += delta;
    else this.#content.push({ type, text: delta });
  }

  /** The tool call of an id, which begins when it is first heard of. */
  #toolCall({ id, toolCallId = id, toolName }: StreamPart): Content {
    const begun = this.#content.find((content) => content.toolCallId === toolCallId && content.type === 'tool-call');
    const call = begun ?? { type: 'tool-call', toolCallId, toolName, input: '' };
    if (begun === undefined) this.#content.push(call);
    return call;
  }
}
