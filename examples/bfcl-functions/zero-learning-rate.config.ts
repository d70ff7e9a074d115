import { defineConfig } from '@agentlightning/trainer';
import config, { grpo } from './agl.config.ts';

/** A control: the same rollouts and evaluations, with weights that do not change. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions with learning rate 0' },
  algorithm: { ...grpo, learningRate: 0 },
});
