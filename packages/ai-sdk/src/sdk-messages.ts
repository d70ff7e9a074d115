import type { JsonObject } from '@agentlightning/core';
import { type Fields, fieldsOf, hasFields, plainText } from '@agentlightning/core/adapter';
import type { SdkAnswer, SdkPrompt } from './sdk-events.ts';

/**
 * A prompt of the AI SDK as the body of a Chat Completions request, which is the form that traces have messages in.
 * Files are named, not repeated.
 */
export function requestOf(prompt: SdkPrompt, promptMessages: unknown = undefined): JsonObject {
  const { instructions = prompt.system } = prompt;
  return json({
    model: modelIdOf(prompt),
    messages: [
      ...messageList('system', instructions),
      ...messageList('user', promptMessages ?? prompt.messages ?? prompt.prompt),
    ],
    tools: toolDefinitions(prompt.tools),
    temperature: prompt.temperature,
    top_p: prompt.topP,
    max_completion_tokens: prompt.maxOutputTokens,
    seed: prompt.seed,
  });
}

/** The model that is asked, by whichever name either version tells it. */
export function modelIdOf({ modelId, model }: SdkPrompt): string | undefined {
  return modelId ?? model?.modelId;
}

/** A model's answer as the body of a Chat Completions answer. */
export function answerOf(answer: SdkAnswer): JsonObject {
  const { content, finishReason, usage } = answer;
  const said = content ?? answer.objectText;
  const reason = fieldsOf(finishReason).unified ?? finishReason;
  return json({
    id: answer.responseId ?? answer.response?.id,
    model: answer.response?.modelId ?? answer.modelId,
    // Reasons are spelled as gateways spell them, which is OpenAI's way.
    choices:
      said === undefined
        ? said
        : [{ finish_reason: reason && String(reason).replace('-', '_'), message: saying(said) }],
    usage: {
      prompt_tokens: tokenCount(fieldsOf(usage).inputTokens ?? fieldsOf(usage).tokens),
      completion_tokens: tokenCount(fieldsOf(usage).outputTokens),
    },
  });
}

/** Fields that are undefined are as good as absent: whoever reads the body, and JSON, passes them over. */
function json(body: Fields): JsonObject {
  return body as JsonObject;
}

/** Messages, or the text of a role's only one. */
function messageList(role: string, messages: unknown): readonly Fields[] {
  return typeof messages === 'string' ? [{ role, content: messages }] : partsOf(messages).flatMap(message);
}

function message({ role, content }: Fields): readonly Fields[] {
  if (role === 'assistant') return [saying(content)];
  if (role === 'tool') return partsOf(content).flatMap(toolResult);
  return [{ role, content: typeof content === 'string' ? content : partsOf(content).map(userPart) }];
}

/** Whatever an assistant said, from a text, or from the parts of a message, an answer or an event. */
function saying(content: unknown): Fields {
  let said = '';
  let reasoning = '';
  const calls: Fields[] = [];
  for (const part of typeof content === 'string' ? [{ type: 'text', text: content }] : partsOf(content)) {
    if (part.type === 'tool-call') calls.push(toolCall(part));
    else if (part.type === 'text') said += String(part.text ?? '');
    else if (part.type === 'reasoning') reasoning += String(part.text ?? '');
  }
  return {
    role: 'assistant',
    content: said,
    reasoning_content: reasoning || undefined,
    tool_calls: calls,
  };
}

function toolCall({ toolCallId, toolName, input = '' }: Fields): Fields {
  return { id: toolCallId, type: 'function', function: { name: toolName, arguments: plainText(input) } };
}

function toolResult({ type, toolCallId, output }: Fields): readonly Fields[] {
  if (type !== 'tool-result') return [];
  return [{ role: 'tool', tool_call_id: toolCallId, content: plainText(fieldsOf(output).value ?? output) }];
}

function userPart({ type, text, image, data = image, mediaType }: Fields): Fields {
  if (type === 'text') return { type, text };
  // The bytes themselves are not repeated, and would be long as a text: for each of them a number.
  const address = ArrayBuffer.isView(data) ? '' : String(fieldsOf(data).url ?? data);
  const url = /^https?:/.test(address) ? address : `data:${mediaType ?? 'application/octet-stream'}`;
  return { type: 'image_url', image_url: { url } };
}

/** From a list of definitions, or from the user's tools by name, whose schemas may be only their library's to read. */
function toolDefinitions(tools: unknown): readonly Fields[] {
  if (Array.isArray(tools)) return partsOf(tools).map(toolDefinition);
  return Object.entries(fieldsOf(tools)).map(([name, tool]) => {
    const { description, inputSchema } = fieldsOf(tool);
    return toolDefinition({ name, description, inputSchema: fieldsOf(inputSchema).jsonSchema });
  });
}

function toolDefinition({ name, description, inputSchema }: Fields): Fields {
  return { type: 'function', function: { name, description, parameters: inputSchema } };
}

/** A number in events, the details with their total where it comes from the provider. */
function tokenCount(count: unknown): unknown {
  return fieldsOf(count).total ?? count;
}

function partsOf(value: unknown): readonly Fields[] {
  return (Array.isArray(value) ? value : [value]).filter(hasFields);
}
