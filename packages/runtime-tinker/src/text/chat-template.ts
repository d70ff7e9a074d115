import { AgentLightningError, ValidationError } from '@agentlightning/core';
import type { ChatMessage, ChatTool } from '@agentlightning/runtime/internal/serving';
import { Template } from '@huggingface/jinja';
import { jsonOf } from './tool-format.ts';

/** What a conversation is rendered from. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
  /** Variables of the template, such as Qwen's `enable_thinking`. */
  readonly settings?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Names that settings must not set. */
const reservedNames: ReadonlySet<string> = new Set([
  'messages',
  'tools',
  'add_generation_prompt',
  'bos_token',
  'eos_token',
]);

/** A message as templates expect it: content as one text, arguments of calls as objects. */
interface PlainMessage {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: unknown } }[];
}

/**
 * A chat template of Transformers (Jinja). A template without tools gets them as text, in the format of Hermes: a system
 * message lists them, and earlier calls are written as text.
 */
export class ChatTemplate {
  readonly #template: Template;
  readonly #specialTokens: Readonly<Record<string, unknown>>;
  readonly #source: string;
  readonly #knowsTools: boolean;

  /** @throws AgentLightningError `VALIDATION` when the template has a syntax error. */
  constructor(source: string, specialTokens: Readonly<Record<string, unknown>>) {
    this.#specialTokens = specialTokens;
    this.#source = source;
    this.#knowsTools = source.includes('tools');
    try {
      this.#template = new Template(source);
    } catch (cause) {
      throw new AgentLightningError({
        code: 'VALIDATION',
        message: `The model's chat template is not usable: ${messageOf(cause)}`,
        remedy: 'Correct chat_template.jinja of the model.',
        cause,
      });
    }
  }

  /** Whether the source of the template has a text. */
  includes(text: string): boolean {
    return this.#source.includes(text);
  }

  /**
   * The text of a conversation.
   *
   * @param isPrompt Whether the start of the assistant's message follows.
   * @throws ValidationError when the template rejects the conversation, with the template's message.
   */
  render({ messages, tools, settings }: Conversation, isPrompt = true): string {
    const plain = messages.map(plainMessage);
    const given = this.#knowsTools ? plain : withToolsAsText(plain, tools);
    const own = Object.entries(settings ?? {}).filter(([name]) => !reservedNames.has(name));
    try {
      return this.#template.render({
        ...this.#specialTokens,
        ...Object.fromEntries(own),
        messages: given,
        tools: this.#knowsTools && tools.length > 0 ? tools : null,
        add_generation_prompt: isPrompt,
      });
    } catch (cause) {
      const message = `the model's chat template rejects this conversation: ${messageOf(cause)}`;
      throw new ValidationError('The request', [{ path: 'messages', message }], cause);
    }
  }

  /**
   * The text of an assistant message that follows the prompt, up to and including the end token.
   *
   * @throws ValidationError when the template rejects the conversation, or changes the prompt because of the response.
   */
  renderResponse(conversation: Conversation, response: Omit<ChatMessage, 'role'>): string {
    const prompt = this.render(conversation);
    const messages = [...conversation.messages, { ...response, role: 'assistant' }];
    const whole = this.render({ ...conversation, messages }, false);
    if (!whole.startsWith(prompt)) {
      const message =
        "the model's chat template changes the prompt when the response is added; set chat_template_kwargs so that it does not";
      throw new ValidationError('The request', [{ path: 'forced_message', message }]);
    }
    const end = typeof this.#specialTokens['eos_token'] === 'string' ? this.#specialTokens['eos_token'] : '';
    const text = whole.slice(prompt.length);
    const at = end === '' ? -1 : text.lastIndexOf(end);
    return (at < 0 ? text : text.slice(0, at)) + end;
  }
}

function plainMessage(message: ChatMessage, index: number): PlainMessage {
  const { content, tool_calls: calls, ...rest } = message;
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined)),
    role: message.role,
    content: textOf(content, index),
    ...(calls && calls.length > 0
      ? {
          tool_calls: calls.map((call) => ({
            ...call,
            // Invalid arguments of the model are passed to it unchanged.
            function: {
              ...call.function,
              arguments: jsonOf(call.function.arguments || '{}') ?? call.function.arguments,
            },
          })),
        }
      : {}),
  };
}

function textOf(content: ChatMessage['content'], index: number): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content
    .map((part) => {
      if (textParts.has(part.type)) return part.text ?? part.refusal ?? '';
      const message = `the content part "${part.type}" is not a text; send text parts only`;
      throw new ValidationError('The request', [{ path: `messages.${index}.content`, message }]);
    })
    .join('');
}

const textParts: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text', 'refusal']);

function withToolsAsText(messages: readonly PlainMessage[], tools: readonly ChatTool[]): readonly PlainMessage[] {
  const written = messages.map(writtenMessage);
  if (tools.length === 0) return written;
  const listed = tools.map((tool) => JSON.stringify(tool)).join('\n');
  const preamble = `You may call one or more functions to assist with the user query.

The functions, as JSON, one a line:
${listed}

For each function call, write a JSON object with its name and arguments like this:
<tool_call>
{"name": "<function-name>", "arguments": <arguments-object>}
</tool_call>`;
  const [first, ...rest] = written;
  if (first?.role !== 'system') return [{ role: 'system', content: preamble }, ...written];
  return [{ ...first, content: `${first.content}\n\n${preamble}` }, ...rest];
}

function writtenMessage({ tool_calls: calls, ...message }: PlainMessage): PlainMessage {
  if (!calls) return message;
  const written = calls.map(
    ({ function: { name, arguments: given } }) =>
      `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${JSON.stringify(given)}}\n</tool_call>`,
  );
  return { ...message, content: [message.content, ...written].filter((text) => text !== '').join('\n') };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
