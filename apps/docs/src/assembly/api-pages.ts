import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dirname, normalize } from 'node:path/posix';
import GithubSlugger from 'github-slugger';
import type { ApiProject } from './api-project.ts';
import { outsideOfCode } from './convert-document.ts';
import { type Page, pagePath } from './page.ts';

/** The pages of the API reference, one for each entry point. */
export async function apiPages({ app, project }: ApiProject): Promise<readonly Page[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlightning-api-'));
  try {
    await app.outputs.writeOutput({ name: 'markdown', path: folder }, project);
    const files = (await readdir(folder, { recursive: true })).filter((file) => /\.md$/.test(file)).sort();
    const modules = new Map<string, ApiModule>();
    for (const file of files) {
      const text = await readFile(join(folder, file), 'utf8');
      const name = /^# (\S+)$/m.exec(text)?.[1];
      if (name !== undefined && !/(^|\/)README\.md$/.test(file)) modules.set(file, { name, text });
    }
    return [
      overview([...modules.values()]),
      ...[...modules].map(([file, module], index) => apiPage(file, module, { modules, order: index + 1 })),
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The page that TypeDoc wrote for an entry point. */
interface ApiModule {
  readonly name: string;
  readonly text: string;
}

function overview(modules: readonly ApiModule[]): Page {
  return {
    slug: 'reference/api',
    title: 'API',
    description: 'The public API of each package, from the documentation comments of its source.',
    order: 0,
    body: modules.map(({ name }) => `- [\`${name}\`](${pagePath(slugOf(name))})`).join('\n'),
  };
}

/** What the page of one module needs of the others. */
interface ApiContext {
  readonly modules: ReadonlyMap<string, ApiModule>;
  readonly order: number;
}

function apiPage(file: string, { name, text }: ApiModule, { modules, order }: ApiContext): Page {
  const withPageLinks = (markdown: string): string =>
    markdown.replace(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g, (_, target: string, anchor?: string) => {
      const linked = modules.get(target === '' ? file : normalize(`${dirname(file)}/${target}`));
      if (linked === undefined) return ']';
      const path = target === '' ? '' : pagePath(slugOf(linked.name));
      return `](${path}${anchor === undefined ? '' : `#${existingAnchor(anchor, linked.text)}`})`;
    });
  return {
    slug: slugOf(name),
    title: name,
    description: `The public API of ${name}.`,
    order,
    body: outsideOfCode(text.replace(/^# .+\n+/m, ''), withPageLinks),
  };
}

function slugOf(name: string): string {
  return `reference/api/${name.replace(/^@agentlightning\//, '').replaceAll('/', '-')}`;
}

/** TypeDoc numbers some anchors as if their heading was there twice. */
function existingAnchor(anchor: string, markdown: string): string {
  const slugger = new GithubSlugger();
  const headings = [...markdown.matchAll(/^#{2,6} (.+)$/gm)].map(([, heading = '']) =>
    slugger.slug(heading.replaceAll(/[\\`]/g, '')),
  );
  return headings.includes(anchor) || markdown.includes(`id="${anchor}"`) ? anchor : anchor.replace(/-\d+$/, '');
}
