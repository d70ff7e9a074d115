import { ValidationError, type ValidationIssue } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import type { Context } from 'hono';
import type { z } from 'zod';
import { MalformedRequestError } from './malformed-request-error.ts';

/**
 * Reads the body of a request.
 *
 * @throws MalformedRequestError when it is not JSON or does not match the schema
 */
export async function readBody<TSchema extends z.ZodType>(
  context: Context,
  schema: TSchema,
): Promise<z.output<TSchema>> {
  return parseRequest(schema, await readJsonBody(context));
}

/** Reads the body of a request; an empty object when it has none. */
export async function readOptionalBody<TSchema extends z.ZodType>(
  context: Context,
  schema: TSchema,
): Promise<z.output<TSchema>> {
  const text = await context.req.text();
  return parseRequest(schema, text === '' ? {} : ((await readJsonBody(context)) ?? {}));
}

/**
 * Reads the body of an update, in which some fields must not be null.
 *
 * @throws ValidationError when one of these fields is null
 */
export async function readPatch<TSchema extends z.ZodType>(
  context: Context,
  schema: TSchema,
  notNull: readonly string[],
): Promise<z.output<TSchema>> {
  const body = await readJsonBody(context);
  rejectNull(body, notNull);
  return parseRequest(schema, body);
}

/** As {@link readPatch}; a request without a body is an empty update. */
export async function readOptionalPatch<TSchema extends z.ZodType>(
  context: Context,
  schema: TSchema,
  notNull: readonly string[],
): Promise<z.output<TSchema>> {
  const text = await context.req.text();
  const body = text === '' ? {} : ((await readJsonBody(context)) ?? {});
  rejectNull(body, notNull);
  return parseRequest(schema, body);
}

/** Size of a request body as sent, in bytes. */
export async function bodyBytes(context: Context): Promise<number> {
  const told = context.req.header('content-length');
  return told === undefined ? (await context.req.arrayBuffer()).byteLength : Number(told);
}

function rejectNull(body: unknown, notNull: readonly string[]): void {
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const issues: ValidationIssue[] = fields
    .filter(([name, value]) => value === null && notNull.includes(name))
    .map(([name]) => ({ path: name, message: `${name} is invalid; it cannot be a null value.` }));
  if (issues.length > 0) throw new ValidationError('Request', issues);
}

/** Validates a part of a request. */
export function parseRequest<TSchema extends z.ZodType>(schema: TSchema, value: unknown): z.output<TSchema> {
  try {
    return parse(schema, value, 'Request');
  } catch (error) {
    if (error instanceof ValidationError) throw new MalformedRequestError(error.issues, error);
    throw error;
  }
}

/**
 * Rejects a body without the JSON content type.
 *
 * @throws MalformedRequestError
 */
function assertJson(context: Context): void {
  // Any web page can send other content types to a local server without a CORS preflight.
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
