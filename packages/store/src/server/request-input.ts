import { setImmediate } from 'node:timers/promises';
import { ValidationError, type ValidationIssue } from '@agentlightning/core';
import { errorMessage, findInexactNumber, validationIssues } from '@agentlightning/core/internal';
import type { StoreRoute } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import { z } from 'zod';
import { assertJsonSize, tooLarge } from '../sql/json-limits.ts';
import { charged } from './limits/serving-shares.ts';

/** Number of JSON values up to which all invalid fields of a body are reported, instead of the first. */
const maxReportedValues = 1000;

/** Number of JSON values, and of bytes, from which other requests are served between the steps of reading a body. */
const largeBody = { values: 2000, bytes: 2 ** 20 };

/** Maximum number of items of a list, such as ids to search. */
const defaultMaxItems = 20_000;

/**
 * Thrown when a request's body or parameters cannot be parsed or have wrong types: status 422 in the store protocol.
 */
export class MalformedRequestError extends ValidationError {
  constructor(issues: readonly ValidationIssue[], cause?: unknown) {
    super('Request', issues, cause);
  }
}

/**
 * Reads the input of a route: the body or URL parameters of a request.
 *
 * @throws MalformedRequestError when it is not JSON or does not match the codec
 * @throws ValidationError when a field is null that must not be, or an unknown field is sorted by
 */
export async function readInput<TInput>(context: Context, route: StoreRoute<TInput>): Promise<TInput> {
  if (route.query !== undefined) return parseInput(route.query, queryOf(context, route.query));
  const { body, isBodyOptional = false, notNull = [], maxItems = defaultMaxItems } = route;
  // A route without input is not read with this function's result.
  if (body === undefined) return undefined as TInput;
  const isEmpty = isBodyOptional && (await context.req.text()) === '';
  const { json, ...size } = isEmpty ? { json: {}, values: 0, bytes: 0 } : await readJson(context);
  rejectLongLists(json, maxItems);
  // Agents would receive another number than the one that was sent.
  if (!isEmpty && route.path.includes('/rollouts')) {
    const text = await context.req.text();
    await betweenSteps(size);
    charged(context, () => rejectInexact(text));
    await betweenSteps(size);
  }
  rejectNull(json, notNull);
  const value = isBodyOptional ? (json ?? {}) : json;
  const input = charged(context, () => parseInput(body, value, { abortEarly: size.values > maxReportedValues }));
  await betweenSteps(size);
  return input;
}

/** Size of a request body as sent, in bytes. */
export async function bodyBytes(context: Context): Promise<number> {
  const declared = context.req.header('content-length');
  return declared === undefined ? (await context.req.arrayBuffer()).byteLength : Number(declared);
}

/**
 * Rejects a body with another content type.
 *
 * @throws MalformedRequestError
 */
export function assertContentType(context: Context, expected: string): void {
  const type = context.req.header('content-type')?.split(';')[0]?.trim();
  if (type === expected) return;
  throw new MalformedRequestError([{ path: '', message: `content type must be ${expected}, got ${type ?? 'none'}` }]);
}

function parseInput<TInput>(
  schema: z.ZodType<TInput>,
  value: unknown,
  options?: z.core.ParseContextInternal<z.core.$ZodIssue>,
): TInput {
  // Collecting the issues of a large body takes a thousand times as long as its validation.
  const result = schema.safeParse(value, options);
  if (result.success) return result.data;
  throw new MalformedRequestError(validationIssues(result.error), result.error);
}

/** How large a JSON body is. */
interface BodySize {
  readonly values: number;
  readonly bytes: number;
}

async function readJson(context: Context): Promise<BodySize & { readonly json: unknown }> {
  // Any web page can send other content types to a local server without a CORS preflight.
  assertContentType(context, 'application/json');
  const body = Buffer.from(await context.req.arrayBuffer());
  const size: BodySize = { values: charged(context, () => assertJsonSize(body)), bytes: body.byteLength };
  await betweenSteps(size);
  try {
    const text = charged(context, () => body.toString('utf8'));
    await betweenSteps(size);
    const json: unknown = charged(context, () => JSON.parse(text));
    await betweenSteps(size);
    return { json, ...size };
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new MalformedRequestError([{ path: '', message: `body is not JSON: ${reason}` }], cause);
  }
}

/** Serves other requests between the steps of reading a large body. */
async function betweenSteps({ values, bytes }: BodySize): Promise<void> {
  if (values >= largeBody.values || bytes >= largeBody.bytes) await setImmediate();
}

function rejectInexact(text: string): void {
  const inexact = findInexactNumber(text);
  if (inexact === null) return;
  const message = `the number ${inexact} is beyond those that JSON clients in JavaScript represent; send it as text: "${inexact}"`;
  throw new MalformedRequestError([{ path: '', message }]);
}

function rejectLongLists(body: unknown, maxItems: number): void {
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const tooLong = fields.find(([, value]) => Array.isArray(value) && value.length > maxItems);
  if (tooLong !== undefined) throw tooLarge(`items in ${tooLong[0]}`, maxItems);
}

function rejectNull(body: unknown, notNull: readonly string[]): void {
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const issues: ValidationIssue[] = fields
    .filter(([name, value]) => value === null && notNull.includes(name))
    .map(([name]) => ({ path: name, message: `${name} is invalid; it cannot be a null value.` }));
  if (issues.length > 0) throw new ValidationError('Request', issues);
}

type JsonType = 'array' | 'object' | 'number' | 'integer' | 'string' | 'boolean';
type TypesByName = Readonly<Record<string, JsonType | undefined>>;

const typesByQuery = new WeakMap<z.ZodType, TypesByName>();

/** The URL parameters of a request with the types of their schema: lists are repeated, objects are JSON. */
function queryOf(context: Context, query: z.ZodType): Readonly<Record<string, unknown>> {
  const types = typesByQuery.get(query) ?? parameterTypes(query);
  typesByQuery.set(query, types);
  const given = Object.entries(context.req.queries()).map(([name, values]): [string, unknown] => {
    if (types[name] === 'array') return [name, values];
    const last = values.at(-1) ?? '';
    if (types[name] === 'object') return [name, jsonOrText(last)];
    return [name, types[name] === 'number' || types[name] === 'integer' ? numberOrText(last) : last];
  });
  return Object.fromEntries(given);
}

function parameterTypes(query: z.ZodType): TypesByName {
  const { properties = {} } = z.toJSONSchema(query, { unrepresentable: 'any', io: 'input' });
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const options = typeof schema === 'object' ? [schema, ...(schema.anyOf ?? [])] : [];
      const types = options.map((option) => (typeof option === 'object' ? option.type : undefined));
      return [name, types.find((type) => type !== undefined && type !== 'null') as JsonType | undefined];
    }),
  );
}

/** Parses a number; returns other text unchanged, which the schema rejects. */
function numberOrText(text: string): number | string {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Parses JSON; returns other text unchanged, which the schema rejects. */
function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
