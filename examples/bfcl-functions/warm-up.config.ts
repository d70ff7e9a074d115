import { defineConfig, replayDemonstration } from '@agentlightning/trainer';
import { functionCaller } from './agent.ts';
import config from './agl.config.ts';
import { conversation } from './demonstration.ts';

/** The algorithm and its number of steps. */
export const warmUp = { algorithm: { type: 'sft', groupSize: 1, learningRate: 1e-3 }, steps: 16 } as const;

/** Supervised fine-tuning on right calls of training questions; it is evaluated on the same held-out questions as the training. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions warm-up' },
  agent: (task, { mode }) => (mode === 'train' ? replayDemonstration(conversation(task)) : functionCaller(task)),
  ...warmUp,
  tasksPerStep: 8,
  evaluation: { tasks: 65 },
});
