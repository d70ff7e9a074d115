import { ValidationError, type ValidationIssue } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import type { Context } from 'hono';
import type { z } from 'zod';
import { MalformedRequestError } from './malformed-request-error.ts';

/**
 * Reads the body of a request.
 *
 * @throws MalformedRequestError when it is no JSON or does not have the shape
 */
export async function readBody<TSchema extends z.ZodType>(
  context: Context,
  schema: TSchema,
): Promise<z.output<TSchema>> {
  return parseRequest(schema, await readJsonBody(context));
}

/** Reads the body of a request, or gives back an empty object when there is none. */
export async function readOptionalBody<TSchema extends z.ZodType>(
  context: Context,
  schema: TSchema,
): Promise<z.output<TSchema>> {
  const text = await context.req.text();
  return parseRequest(schema, text === '' ? {} : ((await readJsonBody(context)) ?? {}));
}

/**
 * Reads the body of a request that changes something, in which null is not a value for some fields.
 *
 * @throws ValidationError when one of those fields is null
 */
export async function readPatch<TSchema extends z.ZodType>(
  context: Context,
  schema: TSchema,
  notNull: readonly string[],
): Promise<z.output<TSchema>> {
  const body = await readJsonBody(context);
  refuseNull(body, notNull);
  return parseRequest(schema, body);
}

/** As {@link readPatch}, where a request without a body changes nothing. */
export async function readOptionalPatch<TSchema extends z.ZodType>(
  context: Context,
  schema: TSchema,
  notNull: readonly string[],
): Promise<z.output<TSchema>> {
  const text = await context.req.text();
  const body = text === '' ? {} : ((await readJsonBody(context)) ?? {});
  refuseNull(body, notNull);
  return parseRequest(schema, body);
}

/** How long the body of a request is, as it was sent. */
export async function bodyBytes(context: Context): Promise<number> {
  const told = context.req.header('content-length');
  return told === undefined ? (await context.req.arrayBuffer()).byteLength : Number(told);
}

function refuseNull(body: unknown, notNull: readonly string[]): void {
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const issues: ValidationIssue[] = fields
    .filter(([name, value]) => value === null && notNull.includes(name))
    .map(([name]) => ({ path: name, message: `${name} is invalid; it cannot be a null value.` }));
  if (issues.length > 0) throw new ValidationError('Request', issues);
}

/** Checks the shape of what a request carries. */
export function parseRequest<TSchema extends z.ZodType>(schema: TSchema, value: unknown): z.output<TSchema> {
  try {
    return parse(schema, value, 'Request');
  } catch (error) {
    if (error instanceof ValidationError) throw new MalformedRequestError(error.issues, error);
    throw error;
  }
}

/**
 * Refuses a body that is not said to be JSON.
 *
 * @throws MalformedRequestError
 */
function assertJson(context: Context): void {
  // Only JSON: other types can be sent by any web page, to a server on the same machine as its reader.
  const type = context.req.header('content-type')?.split(';')[0]?.trim();
  if (type !== 'application/json') {
    throw new MalformedRequestError([
      { path: '', message: `content type must be application/json, got ${type ?? 'none'}` },
    ]);
  }
}

async function readJsonBody(context: Context): Promise<unknown> {
  assertJson(context);
  const text = await context.req.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MalformedRequestError([{ path: '', message: `body is not JSON: ${reason}` }], cause);
  }
}
