// @module-tag long
import path from 'node:path';
import { testTraining } from '@agentlightning/example-training-test';
import config from '../agl.config.ts';

const answered = `rollout rollout
  agent mail-room
    step sort
      model-call gpt-4.1-mini
    step lockers
      tool-call find_locker
    step reply
      model-call gpt-4.1-mini
  reward reward
`;

const leftToPerson = `rollout rollout
  agent mail-room
    step sort
      model-call gpt-4.1-mini
    step person
      tool-call call_person
  reward reward
`;

testTraining(config, {
  folder: path.join(import.meta.dirname, '..'),
  changes: { steps: 8, tasksPerStep: 16 },
  rewardBefore: 0.35,
  traces: [answered, leftToPerson],
});
