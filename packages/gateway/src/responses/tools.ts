import type { JsonObject } from '@agentlightning/core';
import { parseJsonObject } from '@agentlightning/core/internal';
import { badRequest, notTranslatable, optionalObjects } from '../model-api/bad-request.ts';
import { definedFields, objectOf, objectsOf, textOf } from '../wire/json-access.ts';

/** A tool of a Responses request that the model knows as a function with another name or form. */
export interface RenamedTool {
  /** Whether its input is a text, not JSON: the function has one parameter. */
  readonly isCustom: boolean;
  /** What it is part of, such as an MCP server; null for none. */
  readonly namespace: string | null;
  readonly name: string;
}

/** The renamed tools of a request, by the names of their functions. */
export type RenamedTools = ReadonlyMap<string, RenamedTool>;

/** The parameter of the function of a custom tool. */
const inputName = 'input';

/** The type of items with tools, which are no part of the conversation. */
export const additionalToolsType = 'additional_tools';

/** Whether a tool runs at OpenAI. A chat engine does not have it. */
export function isServerTool(type: string): boolean {
  return /^(web_search|file_search|code_interpreter|image_generation|mcp|tool_search)/.test(type);
}

/** A request with the tools of its items `additional_tools`, in which newer versions of Codex send all their tools. */
export function withAdditionalTools(request: JsonObject, items: readonly JsonObject[]): JsonObject {
  const added = items.flatMap(({ type, tools }, index) =>
    type === additionalToolsType ? optionalObjects(tools, `input[${index}].tools`) : [],
  );
  return added.length === 0 ? request : { ...request, tools: [...optionalObjects(request.tools, 'tools'), ...added] };
}

/** The name of the function of a tool in a namespace. */
export function namespacedName(namespace: string, name: string): string {
  return `${namespace}__${name}`;
}

/**
 * Converts the tools of a Responses request: custom tools become functions with a text as their only parameter, those of
 * namespaces functions with the namespace in the name. Tools that run at OpenAI are left out. The last one of a name counts.
 *
 * @param changes - receives the tools that were left out
 * @throws GatewayError 400 for other tools
 */
export function chatTools(tools: readonly JsonObject[], changes: string[]): readonly JsonObject[] {
  const functions = tools.flatMap((tool, index) => functionsOf(tool, `tools[${index}]`, changes));
  return [...new Map(functions.map((one) => [textOf(objectOf(one.function).name), one])).values()];
}

function functionsOf(tool: JsonObject, path: string, changes: string[]): readonly JsonObject[] {
  const type = textOf(tool.type) ?? '?';
  if (type === 'custom') return [customFunction(tool, path)];
  if (type === 'function') return [functionTool(tool, path)];
  if (type === 'namespace') {
    const inner = optionalObjects(tool.tools, `${path}.tools`);
    return inner.map((one, at) => namespacedFunction(one, textOf(tool.name) ?? '', `${path}.tools[${at}]`));
  }
  if (!isServerTool(type)) throw notTranslatable(`${path}.type`, `the built-in tool \`${type}\``);
  changes.push(`${path}: ${type} left out`);
  return [];
}

/** The tools of a request whose calls are returned in another form than those of functions. */
export function renamedTools(request: JsonObject): RenamedTools {
  const renamed = new Map<string, RenamedTool>();
  for (const tool of objectsOf(request.tools)) {
    const outer = textOf(tool.name) ?? '';
    if (tool.type === 'custom') renamed.set(outer, { isCustom: true, namespace: null, name: outer });
    if (tool.type !== 'namespace') continue;
    for (const inner of objectsOf(tool.tools)) {
      const name = textOf(inner.name) ?? '';
      renamed.set(namespacedName(outer, name), { isCustom: inner.type === 'custom', namespace: outer, name });
    }
  }
  return renamed;
}

/** The arguments of the function of a custom tool. */
export function customArguments(input: string): string {
  return JSON.stringify({ [inputName]: input });
}

/** The input of a custom tool, from the arguments of its function; models that write the text itself are understood. */
export function customInput(text: string): string {
  const { [inputName]: input } = objectOf(parseJsonObject(text) ?? undefined);
  return textOf(input) ?? text;
}

function functionTool({ name, description, parameters, strict }: JsonObject, path: string): JsonObject {
  if (!textOf(name)) {
    const remedy = 'Set it next to `type`: Responses do not nest functions in a `function` field.';
    throw badRequest(`${path}.name`, `${path}.name is missing`, remedy);
  }
  return {
    type: 'function',
    function: definedFields({
      name,
      description: description ?? undefined,
      parameters: parameters ?? undefined,
      strict: strict ?? undefined,
    }),
  };
}

function namespacedFunction(tool: JsonObject, namespace: string, path: string): JsonObject {
  const isCustom = tool.type === 'custom';
  if (!isCustom && tool.type !== 'function')
    throw notTranslatable(`${path}.type`, `the tool \`${textOf(tool.type) ?? '?'}\``);
  const { function: inner, ...rest } = isCustom ? customFunction(tool, path) : functionTool(tool, path);
  return { ...rest, function: { ...objectOf(inner), name: namespacedName(namespace, textOf(tool.name) ?? '') } };
}

function customFunction({ name, description, format }: JsonObject, path: string): JsonObject {
  const { definition, syntax } = objectOf(format);
  const grammar = textOf(definition);
  const hint = grammar === null ? '' : `\n\nThe input follows this grammar (${textOf(syntax) ?? 'lark'}):\n${grammar}`;
  const parameters = {
    type: 'object',
    properties: { [inputName]: { type: 'string', description: 'The whole input of the tool, as text.' } },
    required: [inputName],
    additionalProperties: false,
  };
  return functionTool({ name: name ?? null, description: `${textOf(description) ?? ''}${hint}`, parameters }, path);
}
