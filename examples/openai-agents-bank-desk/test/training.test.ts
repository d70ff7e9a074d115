// @module-tag long
import path from 'node:path';
import { testTraining } from '@agentlightning/example-training-test';
import config from '../agl.config.ts';

const toldBalance = `rollout rollout
  agent Help desk
    step turn 1
      model-call gpt-4.1-mini
      tool-call read_balance
    step turn 2
      model-call gpt-4.1-mini
  reward reward
`;

const blockedBySecurity = `rollout rollout
  agent Help desk
    step turn 1
      model-call gpt-4.1-mini
      hand-off Security
  agent Security
    step turn 2
      model-call gpt-4.1-mini
      tool-call block_card
  reward reward
`;

testTraining(config, {
  folder: path.join(import.meta.dirname, '..'),
  changes: { steps: 8, tasksPerStep: 16 },
  rewardBefore: 0.35,
  traces: [toldBalance, blockedBySecurity],
});
