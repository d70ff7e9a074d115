import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AstroIntegration } from 'astro';

/** The groups of `llms.txt`, in order, with the first part of the slugs of their pages. */
const groups: readonly (readonly [heading: string, folder: string])[] = [
  ['Learn', 'learn'],
  ['Guides', 'guides'],
  ['Skills for coding agents', 'skills'],
  ['Packages', 'packages'],
  ['Examples', 'examples'],
  ['Reference', 'reference'],
  ['Operations', 'operations'],
  ['Reports', 'reports'],
  ['Contribute', 'contribute'],
  ['Decisions', 'decisions'],
];

/** Serves each page as Markdown too, at its path with `.md`, and lists them in `llms.txt`. */
export function textFiles(): AstroIntegration {
  return {
    name: 'text-files',
    hooks: {
      'astro:build:done': async ({ dir }) => {
        const content = join(import.meta.dirname, 'content/docs');
        const site = fileURLToPath(dir);
        const files = (await readdir(content, { recursive: true })).filter((file) => file.endsWith('.md')).sort();
        const pages = await Promise.all(
          files.map(async (file) => listing(file, await readFile(join(content, file), 'utf8'))),
        );
        for (const { file, text } of pages) {
          await mkdir(dirname(join(site, file)), { recursive: true });
          await writeFile(join(site, file), text);
        }
        await writeFile(join(site, 'llms.txt'), llmsText(pages));
      },
    },
  };
}

interface Listing {
  readonly file: string;
  readonly title: string;
  readonly description: string;
  /** The page as Markdown that needs no front matter. */
  readonly text: string;
}

function listing(file: string, source: string): Listing {
  const value = (key: string): string =>
    JSON.parse(new RegExp(`^${key}: (".*")$`, 'm').exec(source)?.[1] ?? '""') as string;
  const body = source.replace(/^---\n[\s\S]*?\n---\n\n/, '');
  return { file, title: value('title'), description: value('description'), text: `# ${value('title')}\n\n${body}` };
}

function llmsText(pages: readonly Listing[]): string {
  const home = pages.find(({ file }) => file === 'index.md');
  const sections = groups.map(([heading, folder]) => {
    const lines = pages
      .filter(({ file }) => file === `${folder}.md` || file.startsWith(`${folder}/`))
      .map(({ file, title, description }) => `- [${title}](/${file}): ${description}`);
    return `## ${heading}\n\n${lines.join('\n')}`;
  });
  return `# ${home?.title ?? ''}\n\n> ${home?.description ?? ''}\n\n${sections.join('\n\n')}\n`;
}
