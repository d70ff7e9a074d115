import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import starlightLinksValidator from 'starlight-links-validator';
import { searchRanking, textFiles } from './src/site-integrations.ts';

export default defineConfig({
  // Flags such as --steps have two hyphens.
  markdown: { smartypants: false },
  image: { service: passthroughImageService() },
  integrations: [
    searchRanking(),
    starlight({
      title: 'Agent Lightning TS',
      description: 'Train the agent you already have: reinforcement learning and prompt optimisation for agents in TypeScript.',
      plugins: [starlightLinksValidator()],
      customCss: ['./src/site.css'],
      sidebar: [
        { label: 'Learn', items: [{ autogenerate: { directory: 'learn' } }] },
        { label: 'Guides', items: [{ autogenerate: { directory: 'guides' } }] },
        { label: 'Recipes', collapsed: true, items: ['recipes', { autogenerate: { directory: 'recipes' } }] },
        { label: 'Training', items: [{ autogenerate: { directory: 'training' } }] },
        { label: 'Agents and frameworks', collapsed: true, items: [{ autogenerate: { directory: 'agents' } }] },
        { label: 'Algorithms', collapsed: true, items: [{ autogenerate: { directory: 'algorithms' } }] },
        { label: 'Runtimes', collapsed: true, items: [{ autogenerate: { directory: 'runtimes' } }] },
        { label: 'Store', collapsed: true, items: [{ autogenerate: { directory: 'store' } }] },
        { label: 'Gateway', collapsed: true, items: [{ autogenerate: { directory: 'gateway' } }] },
        { label: 'Packages', collapsed: true, items: [{ autogenerate: { directory: 'packages' } }] },
        { label: 'Examples', collapsed: true, items: ['examples', { autogenerate: { directory: 'examples' } }] },
        {
          label: 'Reference',
          items: [
            'reference/configuration',
            'reference/server-settings',
            'reference/json-output',
            'reference/errors',
            'reference/losses',
            'reference/glossary',
            { label: 'Command line', collapsed: true, items: ['reference/cli', { autogenerate: { directory: 'reference/cli' } }] },
            { label: 'API', collapsed: true, items: ['reference/api', { autogenerate: { directory: 'reference/api' } }] },
          ],
        },
        { label: 'Operations', items: [{ autogenerate: { directory: 'operations' } }] },
        { label: 'Reports', collapsed: true, items: [{ autogenerate: { directory: 'reports' } }] },
        { label: 'Skills', collapsed: true, items: [{ autogenerate: { directory: 'skills' } }] },
        {
          label: 'Contribute',
          collapsed: true,
          items: [
            { autogenerate: { directory: 'contribute' } },
            { label: 'Decisions', collapsed: true, items: ['decisions', { autogenerate: { directory: 'decisions' } }] },
          ],
        },
      ],
    }),
    textFiles(),
  ],
});
