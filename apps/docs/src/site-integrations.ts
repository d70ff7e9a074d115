import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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

/**
 * Ranks pages of the API below all others that match: they repeat a name more often than the guide that explains it. Must
 * come before Starlight, which builds the search index in the same hook.
 */
export function searchRanking(): AstroIntegration {
  return {
    name: 'search-ranking',
    hooks: {
      'astro:build:done': async ({ dir }) => {
        const folder = fileURLToPath(new URL('reference/api/', dir));
        const pages = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.html'));
        await Promise.all(
          pages.map(async (page) => {
            const file = join(folder, page);
            await writeFile(file, withoutSearchWeight(await readFile(file, 'utf8')));
          }),
        );
      },
    },
  };
}

/** The page with text and headings that are found, and do not count for the rank. */
export function withoutSearchWeight(html: string): string {
  return html.replaceAll(/<(main|h[1-6])(?=[\s>])/g, '<$1 data-pagefind-weight="0"');
}
