import type { z } from 'zod';

/** What is wrong with a request whose body is not as it should be: the first thing that is not. */
export function problemOf({ issues: [issue] }: z.ZodError): { readonly problem: string } {
  return { problem: `${issue?.path.join('.') || 'body'}: ${issue?.message}` };
}
