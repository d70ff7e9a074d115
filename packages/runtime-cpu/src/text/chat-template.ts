import type { ChatMessage, ChatTool, ChatToolCall } from '@agentlightning/runtime/internal/serving';
import { RejectedRequestError, UnsupportedContentError } from '../runtime-errors.ts';
import { encodeGenerated, encodeText } from './tokenizer.ts';
import { renderArguments } from './tool-call.ts';
import { renderSignatures, type ToolSignature, toolSignatures } from './tool-signature.ts';
import { specialToken } from './vocabulary.ts';

/** Name of the template; it changes with every change of the template. Part of the runtime's capabilities. */
export const chatTemplateName = 'tiny-chat/1';

/**
 * The token ids of the prompt of a conversation, up to the assistant's next message.
 *
 * The tools come first, then the messages, each opened by its role's token; assistant messages are closed by `<|end|>`.
 * An assistant message from {@link parseResponse} is rendered as its original tokens, so the prompt of the next turn
 * starts with this prompt and that response.
 *
 * @example
 * ```ts
 * renderPrompt([{ role: 'user', content: 'Hi' }], []); // <|user|>Hi<|assistant|>
 * ```
 */
export function renderPrompt(messages: readonly ChatMessage[], tools: readonly ChatTool[]): number[] {
  const signatures = toolSignatures(tools);
  const tokens: number[] = [];
  if (signatures.length > 0) tokens.push(specialToken.tools, ...encodeText(renderSignatures(signatures)));
  for (const [index, message] of messages.entries()) tokens.push(...renderMessage(message, index, signatures));
  tokens.push(specialToken.assistant);
  return tokens;
}

/** The tokens that the assistant would generate for a message: everything after `<|assistant|>`, `<|end|>` included. */
export function renderResponse(message: Omit<ChatMessage, 'role'>, tools: readonly ChatTool[]): number[] {
  return renderMessage({ ...message, role: 'assistant' }, 0, toolSignatures(tools)).slice(1);
}

function renderMessage(message: ChatMessage, index: number, tools: readonly ToolSignature[]): number[] {
  const text = contentText(message, index);
  switch (message.role) {
    case 'system':
    case 'developer':
      return [specialToken.system, ...encodeText(text)];
    case 'user':
      return [specialToken.user, ...encodeText(text)];
    case 'tool':
      return [specialToken.tool, ...encodeText(text)];
    case 'assistant': {
      const calls = (message.tool_calls ?? []).flatMap((call) => renderCall(call, tools));
      return [specialToken.assistant, ...encodeGenerated(text), ...calls, specialToken.end];
    }
    default:
      throw new RejectedRequestError(
        `messages[${index}] has the role "${message.role}"; supported roles: system, developer, user, assistant and tool`,
      );
  }
}

/** A call of a tool that is not listed, or whose arguments are not a JSON object, is rendered as text. */
function renderCall(call: ChatToolCall, tools: readonly ToolSignature[]): number[] {
  const index = tools.findIndex((tool) => tool.name === call.function.name);
  const tool = tools[index];
  const values = tool && renderArguments(call.function.arguments, tool);
  if (values === undefined) return encodeText(`${call.function.name}(${call.function.arguments})`);
  return [specialToken.firstTool + index, ...values];
}

function contentText(message: ChatMessage, messageIndex: number): string {
  const content = message.content ?? '';
  if (typeof content === 'string') return content;
  return content
    .map((part) => {
      if (part.type === 'text') return part.text ?? '';
      if (part.type === 'refusal') return part.refusal ?? '';
      throw new UnsupportedContentError(messageIndex, part.type);
    })
    .join('');
}
