import { sdpo } from '@agentlightning/algorithms';
import { defineConfig } from '@agentlightning/trainer';
import config, { feedback } from './sdpo.config.ts';
import { shuffledFeedback } from './shuffled-feedback.ts';

const { type: _, ...options } = feedback;

/** A control: the feedback of other rollouts, most of them of other questions. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions from shuffled feedback' },
  algorithm: { type: 'custom', algorithm: shuffledFeedback(sdpo(options)) },
});
