import { defineConfig } from '@agentlightning/trainer';
import config from './agl.config.ts';

/** The same number of rollouts in a third of the steps: a batch has about eight questions of each category. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions in two turns, larger batches' },
  tasksPerStep: 24,
  steps: 6,
});
