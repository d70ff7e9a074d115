import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { AstroIntegration } from 'astro';

/** Serves each page as Markdown too, at its path with `.md`, and `llms.txt`. The assembly has written them. */
export function textFiles(): AstroIntegration {
  return {
    name: 'text-files',
    hooks: {
      'astro:build:done': async ({ dir }) =>
        await cp(join(import.meta.dirname, 'content/text'), dir, { recursive: true }),
    },
  };
}
