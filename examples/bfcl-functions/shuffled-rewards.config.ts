import { defineConfig } from '@agentlightning/trainer';
import config, { grpo } from './agl.config.ts';
import { shuffledAdvantage } from './shuffled-advantage.ts';

/** A control: GRPO on rewards that are permuted within each batch. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions with shuffled rewards' },
  algorithm: { ...grpo, advantage: shuffledAdvantage() },
});
