import { docsLoader } from '@astrojs/starlight/loaders';
import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro/content/config';

/** The pages, which `assembly/main.ts` writes to `src/content/docs`. */
export const collections = { docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }) };
