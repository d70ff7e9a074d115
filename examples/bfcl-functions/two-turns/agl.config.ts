import { defineConfig } from '@agentlightning/trainer';
import config from '../agl.config.ts';
import { twoTurnCaller } from './agent.ts';

/** GRPO on the three categories of the leaderboard, with a second turn that reports the result of the call. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions in two turns' },
  agent: twoTurnCaller,
  tasks: {
    train: '../node_modules/.cache/tasks/two-turns-train.jsonl',
    test: '../node_modules/.cache/tasks/two-turns-test.jsonl',
  },
  steps: 18,
  limits: { rolloutTimeoutMs: 1_200_000 },
  evaluation: { tasks: 48, rolloutsPerTask: 2 },
});
