import { defineConfig } from '@agentlightning/trainer';
import config, { options } from './sdpo.config.ts';

const [demonstrations] = config.stages ?? [];

/** The same training by the reward alone, which is always 0. */
export default defineConfig({
  ...config,
  run: { name: 'part-codes by GRPO' },
  stages: [
    ...(demonstrations === undefined ? [] : [demonstrations]),
    { algorithm: { type: 'grpo', ...options }, steps: 150 },
  ],
});
