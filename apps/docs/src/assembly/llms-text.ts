import type { Page } from './page.ts';

/** The groups of `llms.txt`, in order, with the first part of the slugs of their pages. */
const groups: readonly (readonly [heading: string, folder: string])[] = [
  ['Learn', 'learn'],
  ['Guides', 'guides'],
  ['Recipes', 'recipes'],
  ['Skills for coding agents', 'skills'],
  ['Packages', 'packages'],
  ['Examples', 'examples'],
  ['Reference', 'reference'],
  ['Operations', 'operations'],
  ['Reports', 'reports'],
  ['Contribute', 'contribute'],
  ['Decisions', 'decisions'],
];

/** The list of all pages as Markdown, for language models (llmstxt.org). */
export function llmsText(pages: readonly Page[]): string {
  const home = pages.find(({ slug }) => slug === '');
  const sections = groups.map(([heading, folder]) => {
    const lines = pages
      .filter(({ slug }) => slug === folder || slug.startsWith(`${folder}/`))
      .map(({ slug, title, description }) => `- [${title}](/${slug}.md): ${description}`);
    return `## ${heading}\n\n${lines.join('\n')}`;
  });
  return `# ${home?.title ?? ''}\n\n> ${home?.description ?? ''}\n\n${sections.join('\n\n')}\n`;
}
