import { defineConfig } from '@agentlightning/trainer';
import config, { grpo } from './agl.config.ts';

/** A control: supervised fine-tuning on every correct response of the same number of rollouts. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions on own successes' },
  algorithm: {
    type: 'rejection-sampling',
    groupSize: grpo.groupSize,
    learningRate: grpo.learningRate,
    minReward: 1,
    keepBest: grpo.groupSize,
  },
});
