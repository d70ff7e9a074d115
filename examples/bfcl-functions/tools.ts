import type OpenAI from 'openai';
import { apiName } from './checker/check-calls.ts';
import type { FunctionDescription } from './task.ts';

/** The names of JSON Schema for the types of the benchmark. */
const jsonTypes: Readonly<Record<string, string>> = { dict: 'object', float: 'number', tuple: 'array', any: 'string' };

/** The functions of a task as tools of OpenAI's API. */
export function toolsOf(functions: readonly FunctionDescription[]): OpenAI.ChatCompletionFunctionTool[] {
  return functions.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name: apiName(name), description, parameters: toJsonSchema(parameters) },
  }));
}

function toJsonSchema(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'type' && typeof value === 'string') return [key, jsonTypes[value] ?? value];
      return [key, isObject(value) ? toJsonSchema(value) : value];
    }),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
