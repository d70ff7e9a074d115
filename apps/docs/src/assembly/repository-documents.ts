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
  'guides/environments',
  'guides/api-key',
  'guides/one-gpu',
  'guides/eight-gpus',
  'guides/prompt-optimisation',
  'guides/per-turn-rewards',
  'guides/sparse-rewards',
  'guides/multi-agent',
  'guides/debug',
  'guides/production-loop',
  'guides/production-data',
  'guides/coding-agents',
  'agents/fetch',
  'agents/ai-sdk',
  'agents/langchain',
  'agents/openai-agents',
  'agents/mastra',
  'agents/claude-agent-sdk',
  'agents/emitters',
  'agents/write-an-adapter',
  'agents/runner',
  'agents/trace',
  'agents/otel',
  'algorithms/credit',
  'algorithms/options',
  'algorithms/prompt-search',
  'algorithms/custom',
  'gateway/api',
  'gateway/behaviour',
  'gateway/agl-server',
  'gateway/operation',
  'runtimes/embedded',
  'runtimes/gpu-models',
  'runtimes/gpu-sampling',
  'runtimes/gpu-scaling',
  'runtimes/gpu-operation',
  'runtimes/contract',
  'store/guarantees',
  'store/http',
  'store/postgresql',
  'store/keys',
  'store/operation',
  'training/set-up',
  'training/loop',
  'training/resume',
  'training/evaluation',
  'training/rewards',
  'training/missing-rewards',
  'training/warnings',
  'training/prompt-search',
  'training/processes',
  'training/server',
  'training/data',
  'training/dashboard',
  'training/client',
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
