import type { z } from 'zod';

/** The first issue of an invalid request body. */
export function problemOf({ issues: [issue] }: z.ZodError): { readonly problem: string } {
  return { problem: `${issue?.path.join('.') || 'body'}: ${issue?.message}` };
}
