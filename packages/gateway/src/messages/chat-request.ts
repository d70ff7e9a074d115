import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import {
  badRequest,
  namesOfOmitted,
  notTranslatable,
  optionalObjects,
  requiredObjects,
} from '../model-api/bad-request.ts';
import { joinedSystem } from '../model-api/content-parts.ts';
import { reasoningEffort } from '../model-api/opaque-reasoning.ts';
import { definedFields, isJsonList, objectOf, textOf } from '../wire/json-access.ts';
import { chatMessages, systemText } from './chat-messages.ts';

/** Fields that a chat engine lacks. They are left out and named in the record. */
const omittedFields: readonly string[] = [
  'context_management',
  'diagnostics',
  'inference_geo',
  'speed',
  'user_profile_id',
  'workspace_id',
];

/** Fields that are translated, or have no effect on a chat engine. All others are forwarded unchanged. */
const ownFields: ReadonlySet<string> = new Set([
  ...omittedFields,
  'cache_control',
  'container',
  'mcp_servers',
  'messages',
  'metadata',
  'output_config',
  'output_format',
  'service_tier',
  'stop_sequences',
  'system',
  'thinking',
  'tool_choice',
  'tools',
]);

/**
 * Translates a Messages request to Chat Completions.
 *
 * @param changes - receives what was left out
 * @throws GatewayError 400 for features that a chat engine lacks, such as tools that Anthropic defines
 */
export function chatRequestOf(request: JsonObject, changes: string[] = []): JsonObject {
  rejectUnsupported(request);
  changes.push(...namesOfOmitted(request, omittedFields));
  const rest = Object.fromEntries(
    Object.entries(request).filter(([name, value]) => value !== null && !ownFields.has(name)),
  );
  const output = objectOf(request.output_config);
  const system = systemText(request.system, 'system');
  const messages = chatMessages(requiredObjects(request.messages, 'messages'), changes);
  const translated = definedFields({
    messages: joinedSystem([...(system === '' ? [] : [{ role: 'system', content: system }]), ...messages]),
    ...toolFields(request, changes),
    stop: stopSequences(request.stop_sequences),
    user: textOf(objectOf(request.metadata).user_id) ?? undefined,
    service_tier: serviceTier(request.service_tier),
    response_format: responseFormat(output.format ?? request.output_format ?? null),
    reasoning_effort: reasoningEffort(output.effort),
    stream_options: request.stream === true ? { include_usage: true } : undefined,
  });
  return { ...rest, ...translated };
}

/** The tier by the names of Chat Completions. */
function serviceTier(tier: JsonValue | undefined): JsonValue | undefined {
  return tier === 'standard_only' ? 'default' : (tier ?? undefined);
}

function rejectUnsupported(request: JsonObject): void {
  if (isJsonList(request.mcp_servers) && request.mcp_servers.length > 0) {
    throw notTranslatable('mcp_servers', 'an MCP server called by Anthropic');
  }
  if (request.container !== undefined && request.container !== null) throw notTranslatable('container', 'a container');
}

/** Tools that run at Anthropic, by the beginning of their type. A chat engine does not have them. */
const serverTools = /^(web_search|web_fetch|code_execution|tool_search_tool|mcp_toolset)/;

function toolFields(request: JsonObject, changes: string[]): JsonObject {
  const tools = optionalObjects(request.tools, 'tools').flatMap((tool, index) => {
    const type = textOf(tool.type) ?? '';
    if (!serverTools.test(type)) return [chatTool(tool, index)];
    changes.push(`tools.${index}: ${type} left out`);
    return [];
  });
  if (tools.length === 0) return {};
  const choice = request.tool_choice ?? { type: 'auto' };
  if (!isJsonObject(choice)) throw badChoice(choice);
  return {
    tools,
    ...(choice.type === 'tool' && !tools.some((tool) => objectOf(tool.function).name === choice.name)
      ? {}
      : choiceField(choice)),
    ...(choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}),
  };
}

function chatTool(tool: JsonObject, index: number): JsonObject {
  const { type, name, description, input_schema: schema, strict } = tool;
  if (type !== undefined && type !== null && type !== 'custom') {
    throw notTranslatable(`tools.${index}.type`, `the tool \`${textOf(type) ?? '?'}\` of Anthropic`);
  }
  if (!textOf(name)) throw badRequest(`tools.${index}.name`, `tools.${index}.name is missing`);
  return { type: 'function', function: definedFields({ name, description, parameters: schema, strict }) };
}

function choiceField(choice: JsonObject): JsonObject {
  const { type, name } = choice;
  switch (type) {
    case 'auto':
      return {};
    case 'any':
      return { tool_choice: 'required' };
    case 'none':
      return { tool_choice: 'none' };
    case 'tool':
      return { tool_choice: { type: 'function', function: { name: name ?? '' } } };
    default:
      throw badChoice(choice);
  }
}

function badChoice(choice: JsonValue): Error {
  const remedy = 'Send { "type": … } with `auto`, `any`, `none`, or `tool` and its name.';
  return badRequest('tool_choice', `tool_choice: ${JSON.stringify(choice)} is not a tool choice`, remedy);
}

function stopSequences(sequences: JsonValue | undefined): JsonValue | undefined {
  if (sequences === undefined || sequences === null) return undefined;
  if (!isJsonList(sequences)) throw badRequest('stop_sequences', 'stop_sequences is not a list of strings');
  return sequences.length > 0 ? sequences : undefined;
}

function responseFormat(format: JsonValue): JsonObject | undefined {
  if (format === null) return undefined;
  const { type, schema } = objectOf(format);
  const path = 'output_config.format.type';
  if (type !== 'json_schema') throw notTranslatable(path, `the format ${JSON.stringify(type ?? format)}`);
  return { type, json_schema: definedFields({ name: 'response', schema, strict: true }) };
}
