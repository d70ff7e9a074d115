// @module-tag long
import path from 'node:path';
import { testTraining } from '@agentlightning/example-training-test';
import config from '../agl.config.ts';

const bookedTable = `rollout rollout
  agent host
    step step 1
      model-call gpt-4.1-mini
      tool-call book_table
  reward reward
`;

testTraining(config, {
  folder: path.join(import.meta.dirname, '..'),
  changes: { steps: 16 },
  rewardBefore: 0.35,
  traces: [bookedTable],
});
