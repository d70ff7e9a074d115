import { listFiles, readText } from '../../../../tools/repository-files.ts';
import { convertDocument } from './convert-document.ts';
import { documentSlug } from './document-slug.ts';
import type { Page } from './page.ts';

/** Pages of the sidebar that are not in alphabetical order, in their order. */
const order = [
  'learn/tutorial',
  'learn/concepts',
  'learn/comparison',
  'learn/migration',
  'guides/tools',
  'guides/api-key',
  'guides/one-gpu',
  'guides/eight-gpus',
  'guides/prompt-optimisation',
  'guides/per-turn-rewards',
  'guides/multi-agent',
  'guides/debug',
  'guides/coding-agents',
];

/** The README of the repository is for visitors of its folder; the site has its own home page. */
const isLeftOut = (path: string): boolean => path === 'README.md';

/** A page for each Markdown document of the repository that belongs to the site. */
export function repositoryPages(): readonly Page[] {
  return listFiles((path) => path.endsWith('.md') && !isLeftOut(path)).flatMap((path) => {
    const slug = documentSlug(path);
    if (slug === null) return [];
    const position = order.indexOf(slug);
    return convertDocument({ path, text: readText(path), slug, order: position < 0 ? order.length : position });
  });
}
