import type { JsonObject, JsonValue } from '@agentlightning/core';
import {
  badRequest,
  namesOfOmitted,
  notTranslatable,
  optionalObjects,
  optionalText,
  requiredObjects,
} from '../model-api/bad-request.ts';
import { reasoningEffort } from '../model-api/opaque-reasoning.ts';
import type { Conversation } from '../model-api/translation.ts';
import { definedFields, isJsonList, objectOf, objectsOf, textOf } from '../wire/json-access.ts';
import { chatMessages } from './chat-messages.ts';
import { wantsLogprobs } from './response-body.ts';
import { chatTools, isServerTool } from './tools.ts';

/** Fields that a chat engine lacks. They are left out and named in the record. */
const omittedFields: readonly string[] = ['context_management', 'max_tool_calls', 'prompt_cache_options', 'truncation'];

/** Fields that are translated, or have no effect on a chat engine. All others are forwarded unchanged. */
const ownFields: ReadonlySet<string> = new Set([
  ...omittedFields,
  'background',
  'conversation',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'reasoning',
  'store',
  'stream_options',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
]);

/** Fields that only OpenAI's servers support. */
const refusedFields: readonly string[] = ['conversation', 'prompt'];

/**
 * Translates a Responses request to Chat Completions.
 *
 * @param request - the body
 * @param conversation - its `input`, with the conversation that it continues
 * @param changes - receives what was left out
 * @throws GatewayError 400 for features that a chat engine lacks, such as background responses
 */
export function chatRequestOf(request: JsonObject, conversation: Conversation, changes: string[] = []): JsonObject {
  rejectUnsupported(request);
  changes.push(...namesOfOmitted(request, omittedFields));
  const rest = Object.fromEntries(
    Object.entries(request).filter(([name, value]) => value !== null && !ownFields.has(name)),
  );
  const hasLogprobs = wantsLogprobs(request);
  const translated = definedFields({
    messages: chatMessages(conversation, optionalText(request.instructions, 'instructions'), changes),
    ...toolFields(request, changes),
    response_format: responseFormat(objectOf(request.text)),
    max_tokens: request.max_output_tokens ?? undefined,
    reasoning_effort: reasoningEffort(objectOf(request.reasoning).effort),
    verbosity: objectOf(request.text).verbosity ?? undefined,
    logprobs: hasLogprobs ? true : undefined,
    top_logprobs: hasLogprobs ? (request.top_logprobs ?? undefined) : undefined,
    stream_options: request.stream === true ? { include_usage: true } : undefined,
  });
  return { ...rest, ...translated };
}

/** The `input` of a request as items: a string is one user message. @throws GatewayError 400 */
export function inputItems(request: JsonObject): readonly JsonObject[] {
  const { input } = request;
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  if (!isJsonList(input)) throw badRequest('input', 'input is neither a string nor a list of items');
  return requiredObjects(input, 'input');
}

function rejectUnsupported(request: JsonObject): void {
  for (const name of refusedFields) {
    if (request[name] !== undefined && request[name] !== null) throw notTranslatable(name, `\`${name}\``);
  }
  optionalText(request.previous_response_id, 'previous_response_id');
  if (request.background === true) throw notTranslatable('background', 'a background response');
}

function toolFields(request: JsonObject, changes: string[]): JsonObject {
  const tools = chatTools(optionalObjects(request.tools, 'tools'), changes);
  if (tools.length === 0) return {};
  const choice = request.tool_choice ?? 'auto';
  const { parallel_tool_calls: parallel } = request;
  const given = typeof parallel === 'boolean' ? { parallel_tool_calls: parallel } : {};
  const allowed = allowedNames(choice);
  if (allowed === null) return { tools, ...choiceField(choice), ...given };
  const kept = tools.filter((tool) => allowed.has(textOf(objectOf(tool.function).name) ?? ''));
  if (kept.length === 0) throw noneAllowed(allowed);
  return { tools: kept, ...choiceField(objectOf(choice).mode ?? 'auto'), ...given };
}

function choiceField(choice: JsonValue): JsonObject {
  if (typeof choice === 'string') return choice === 'auto' ? {} : { tool_choice: choice };
  const { type, name } = objectOf(choice);
  if (isServerTool(textOf(type) ?? '')) return {};
  if (type !== 'function' && type !== 'custom')
    throw notTranslatable('tool_choice', `the choice of \`${textOf(type) ?? '?'}\``);
  return { tool_choice: { type: 'function', function: { name: name ?? '' } } };
}

/** The names of `allowed_tools`; null when the choice does not limit them. */
function allowedNames(choice: JsonValue): ReadonlySet<string> | null {
  const { type, tools } = objectOf(choice);
  return type === 'allowed_tools' ? new Set(objectsOf(tools).map((tool) => textOf(tool.name) ?? '')) : null;
}

function noneAllowed(names: ReadonlySet<string>): Error {
  const listed = JSON.stringify([...names]);
  return badRequest('tool_choice.tools', `tool_choice.tools: none of ${listed} is in the tools`);
}

function responseFormat(text: JsonObject): JsonObject | undefined {
  const { type, name, schema, strict, description } = objectOf(text.format);
  if (type === 'json_object') return { type };
  if (type === undefined || type === null || type === 'text') return undefined;
  if (type !== 'json_schema') throw notTranslatable('text.format.type', `the format ${JSON.stringify(type)}`);
  const given = { description: description ?? undefined, strict: strict ?? undefined };
  return { type, json_schema: definedFields({ name: name ?? 'response', schema, ...given }) };
}
