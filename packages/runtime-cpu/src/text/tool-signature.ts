import type { ChatTool } from '@agentlightning/runtime/internal/serving';
import { RejectedRequestError } from '../runtime-errors.ts';
import { maxTools } from './vocabulary.ts';

/** A parameter of a tool for the template. */
export interface ToolParameter {
  readonly name: string;
  /** The JSON schema's `type` when it is a single name; else `string`. */
  readonly type: string;
}

/** A tool for the template: its name and its parameters in order. */
export interface ToolSignature {
  readonly name: string;
  readonly parameters: readonly ToolParameter[];
}

/** Reads names and parameter types from OpenAI tool definitions. */
export function toolSignatures(tools: readonly ChatTool[]): readonly ToolSignature[] {
  if (tools.length > maxTools) {
    throw new RejectedRequestError(
      `The request has ${tools.length} tools; the embedded model supports at most ${maxTools}`,
    );
  }
  return tools.map((tool) => ({
    name: tool.function.name,
    parameters: Object.entries(tool.function.parameters?.properties ?? {}).map(([name, schema]) => ({
      name,
      type: schemaType(schema),
    })),
  }));
}

/** Renders tools for the model: `count(item) add(left,right)`. */
export function renderSignatures(tools: readonly ToolSignature[]): string {
  return tools.map((tool) => `${tool.name}(${tool.parameters.map((parameter) => parameter.name).join(',')})`).join(' ');
}

function schemaType(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null || !('type' in schema)) return 'string';
  return typeof schema.type === 'string' ? schema.type : 'string';
}
