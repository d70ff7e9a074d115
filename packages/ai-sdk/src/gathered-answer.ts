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

/** What has come of a streamed answer so far. */
export class GatheredAnswer {
  #id: string | undefined;
  #modelId: string | undefined;
  #finishReason: unknown;
  #usage: unknown;
  readonly #content: Content[] = [];
  /** What the stream said went wrong; undefined when nothing did. */
  error: unknown;

  /** Whether the provider said how the answer ended. */
  get isWhole(): boolean {
    return this.#finishReason !== undefined;
  }

  /** Whether nothing has come. */
  get isEmpty(): boolean {
    return this.#id === undefined && this.#content.length === 0;
  }

  /** Takes in the next part of a stream. */
  take(part: unknown): void {
    if (typeof part !== 'object' || part === null) return;
    const { type, ...fields } = part as StreamPart;
    switch (type) {
      case 'response-metadata':
        this.#id = fields.id ?? this.#id;
        this.#modelId = fields.modelId ?? this.#modelId;
        return;
      case 'text-delta':
        this.#append('text', fields.delta);
        return;
      case 'reasoning-delta':
        this.#append('reasoning', fields.delta);
        return;
      case 'tool-input-start':
        this.#toolCall(fields.id, fields.toolName);
        return;
      case 'tool-input-delta':
        this.#toolCall(fields.id).input += fields.delta ?? '';
        return;
      case 'tool-call':
        this.#toolCall(fields.toolCallId, fields.toolName).input = fields.input;
        return;
      case 'error':
        this.error = fields.error ?? 'the stream told of an error';
        return;
      case 'finish':
        this.#finishReason = fields.finishReason;
        this.#usage = fields.usage;
    }
  }

  /** The answer so far; tool calls that broke off are in it with the input that came. */
  toAnswer(): SdkAnswer {
    return {
      responseId: this.#id,
      modelId: this.#modelId,
      content: this.#content,
      finishReason: this.#finishReason,
      usage: this.#usage,
    };
  }

  #append(type: string, delta = ''): void {
    const last = this.#content.at(-1);
    if (last?.type === type) last.text += delta;
    else this.#content.push({ type, text: delta });
  }

  /** The tool call of an id, which begins when it is first heard of. */
  #toolCall(toolCallId: string | undefined, toolName?: string): Content {
    const begun = this.#content.find((content) => content.toolCallId === toolCallId && content.type === 'tool-call');
    if (begun !== undefined) return begun;
    const call: Content = { type: 'tool-call', toolCallId, toolName, input: '' };
    this.#content.push(call);
    return call;
  }
}
