import type { Context } from 'hono';
import type { z } from 'zod';
import { parseRequest } from './request-body.ts';

/** Parameters that may come several times. */
const lists = new Set(['status_in', 'rollout_id_in', 'mode_in']);
/** Parameters that are numbers. */
const numbers = new Set(['limit', 'offset']);

/**
 * Reads the parameters of a request's URL.
 *
 * @throws MalformedRequestError when they do not have the shape
 */
export function readParameters<TSchema extends z.ZodType>(context: Context, schema: TSchema): z.output<TSchema> {
  const given = Object.entries(context.req.queries()).map(([name, values]) => {
    if (lists.has(name)) return [name, values] as const;
    const last = values.at(-1) ?? '';
    return [name, numbers.has(name) ? numberOrText(last) : last] as const;
  });
  return parseRequest(schema, Object.fromEntries(given));
}

/** The number that a text spells; the text itself when it spells none, for the schema to refuse. */
function numberOrText(text: string): number | string {
  return /^-?\d+$/.test(text) ? Number(text) : text;
}
