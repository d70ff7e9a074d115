import { dirname, join, normalize, relative } from 'node:path/posix';
import { documentSlug } from './document-slug.ts';
import { type Page, pagePath } from './page.ts';

/** Options of {@link convertDocument}. */
export interface ConvertOptions {
  /** The document, from the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly slug: string;
  readonly order: number;
}

/** Folder of the site's pages, from the root of the repository. */
export const contentFolder = 'apps/docs/src/content/docs';

/** Folder of the pages as plain Markdown, from the root of the repository. */
export const textFolder = 'apps/docs/src/content/text';

/**
 * A page made from a Markdown document of the repository: its first heading becomes the title, its links to other documents
 * become links to their pages, and links to other files become plain text.
 */
export function convertDocument({ path, text, slug, order }: ConvertOptions): Page {
  const frontMatter = /^---\n([\s\S]*?)\n---\n/.exec(text)?.[1] ?? '';
  const markdown = text.replace(/^---\n[\s\S]*?\n---\n/, '').replace(/<!--[\s\S]*?-->\n*/g, '');
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? slug;
  const body = outsideOfCode(markdown.replace(/^# .+\n+/m, ''), (part) => withPageLinks(part, path, slug));
  return {
    slug,
    title: title.replaceAll(/[`*]/g, ''),
    description: /^description: (.+)$/m.exec(frontMatter)?.[1] ?? firstSentence(body),
    order,
    body: body.replaceAll(/^```ts run\b/gm, '```ts').trim(),
  };
}

const codeBlock = /(^[ \t]*```[\s\S]*?^[ \t]*```[ \t]*$)/gm;

/** Maps the parts of a document that are not in a code block. */
export function outsideOfCode(markdown: string, map: (text: string) => string): string {
  return markdown
    .split(codeBlock)
    .map((part, index) => (index % 2 === 1 ? part : map(part)))
    .join('');
}

const link = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;

function withPageLinks(text: string, path: string, slug: string): string {
  return text.replace(link, (...[whole = '', mark = '', label = '', target = '']: string[]) => {
    if (/^[a-z]+:|^#|^\//.test(target)) return whole;
    const [file = '', anchor] = target.split('#');
    const source = normalize(join(dirname(path), file)).replace(/\/$/, '');
    if (mark === '!') return `![${label}](${relative(join(contentFolder, dirname(`${slug || 'index'}.md`)), source)})`;
    const page = documentSlug(/\.\w+$/.test(source) ? source : `${source}/README.md`);
    const inner = withPageLinks(label, path, slug);
    return page === null ? inner : `[${inner}](${pagePath(page)}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}

function firstSentence(body: string): string {
  const paragraph = body.split(/\n\s*\n/).find((text) => /^[A-Z`*[]/.test(text.trim())) ?? '';
  const plain = paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain;
}
