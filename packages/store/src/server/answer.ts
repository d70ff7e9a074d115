import type { Context } from 'hono';

/** Responds with JSON. */
export function answerJson(context: Context, value: unknown, status: 200 | 201 = 200): Response {
  return context.body(JSON.stringify(value), status, { 'content-type': 'application/json' });
}
