import type { Context } from 'hono';
import type { z } from 'zod';
import { parseRequest } from './request-body.ts';

/** Repeatable parameters. */
const lists = new Set(['status_in', 'rollout_id_in', 'mode_in', 'kind_in']);
/** Numeric parameters. */
const numbers = new Set([
  'limit',
  'offset',
  'start_time_from',
  'start_time_before',
  'end_time_from',
  'end_time_before',
]);
/** JSON parameters. */
const jsons = new Set(['metadata']);

/**
 * Reads the parameters of a request's URL.
 *
 * @throws MalformedRequestError when they do not match the schema
 */
export function readParameters<TSchema extends z.ZodType>(context: Context, schema: TSchema): z.output<TSchema> {
  const given = Object.entries(context.req.queries()).map(([name, values]) => {
    if (lists.has(name)) return [name, values] as const;
    const last = values.at(-1) ?? '';
    if (jsons.has(name)) return [name, jsonOrText(last)] as const;
    return [name, numbers.has(name) ? numberOrText(last) : last] as const;
  });
  return parseRequest(schema, Object.fromEntries(given));
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
