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

type Content = { type: 'text' | 'reasoning'; text: string } | { type: 'tool-call'; [name: string]: unknown };

/** What has come of a streamed answer so far. */
export class GatheredAnswer {
  #id: string | undefined;
  #modelId: string | undefined;
  #finishReason: unknown;
  #usage: unknown;
  readonly #content: Content[] = [];
  readonly #openInputs: Map<string, { toolName: string; input: string }> = new Map();
  /** What the stream said went wrong; undefined when nothing did. */
  error: unknown;

  /** Whether the provider said how the answer ended. */
  get isWhole(): boolean {
    return this.#finishReason !== undefined;
  }

  /** Whether nothing has come. */
  get isEmpty(): boolean {
    return this.#id === undefined && this.#content.length === 0 && this.#openInputs.size === 0;
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
        this.#openInputs.set(String(fields.id), { toolName: String(fields.toolName), input: '' });
        return;
      case 'tool-input-delta':
        this.#appendInput(String(fields.id), fields.delta);
        return;
      case 'tool-call':
        this.#openInputs.delete(String(fields.toolCallId));
        this.#content.push({ ...fields, type });
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
    const unfinished = [...this.#openInputs].map(([toolCallId, open]) => ({ type: 'tool-call', toolCallId, ...open }));
    return {
      responseId: this.#id,
      modelId: this.#modelId,
      content: [...this.#content, ...unfinished],
      finishReason: this.#finishReason,
      usage: this.#usage,
    };
  }

  #append(type: 'text' | 'reasoning', delta = ''): void {
    const last = this.#content.at(-1);
    if (last?.type === type) last.text += delta;
    else this.#content.push({ type, text: delta });
  }

  #appendInput(id: string, delta = ''): void {
    const open = this.#openInputs.get(id);
    if (open !== undefined) open.input += delta;
  }
}
