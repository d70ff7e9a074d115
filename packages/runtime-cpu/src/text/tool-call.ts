import { decodeTokens, encodeGenerated } from './tokenizer.ts';
import type { ToolParameter, ToolSignature } from './tool-signature.ts';
import { specialToken } from './vocabulary.ts';

/**
 * The JSON arguments of a call with the value tokens `body`, or undefined when the body has more values than the tool
 * has parameters.
 */
export function parseArguments(body: readonly number[], tool: ToolSignature): string | undefined {
  if (body.length === 0) return '{}';
  const values = splitValues(body);
  if (values.length > tool.parameters.length) return undefined;
  const entries = values.map((value, index) => {
    const parameter = tool.parameters[index];
    return [parameter?.name ?? '', typedValue(decodeTokens(value), parameter)] as const;
  });
  return JSON.stringify(Object.fromEntries(entries));
}

/**
 * The value tokens of a call with these JSON arguments, the exact inverse of {@link parseArguments}; undefined
 * when the text is not a JSON object.
 */
export function renderArguments(json: string, tool: ToolSignature): number[] | undefined {
  const values = parseObject(json);
  if (values === undefined) return undefined;
  const present = tool.parameters.map((parameter) => Object.hasOwn(values, parameter.name));
  const count = present.lastIndexOf(true) + 1;
  const tokens: number[] = [];
  for (const [index, parameter] of tool.parameters.slice(0, count).entries()) {
    if (index > 0) tokens.push(specialToken.argument);
    if (present[index]) tokens.push(...encodeGenerated(valueText(values[parameter.name])));
  }
  return tokens;
}

function splitValues(body: readonly number[]): number[][] {
  const values: number[][] = [[]];
  for (const token of body) {
    if (token === specialToken.argument) values.push([]);
    else values.at(-1)?.push(token);
  }
  return values;
}

/** A value becomes a type other than string only if its text is the exact JSON of the value. */
function typedValue(text: string, parameter: ToolParameter | undefined): unknown {
  switch (parameter?.type) {
    case 'number':
    case 'integer': {
      const number = Number(text);
      return Number.isFinite(number) && String(number) === text ? number : text;
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'object':
    case 'array':
      return canonicalJson(text) ?? text;
    default:
      return text;
  }
}

function canonicalJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
