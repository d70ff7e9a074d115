// @module-tag long
import path from 'node:path';
import { testTraining } from '@agentlightning/example-training-test';
import config from '../agl.config.ts';

const openedDoor = `rollout rollout
  agent porter
    model-call claude-haiku-4-5
    tool-call mcp__house__open_door
  reward reward
`;

testTraining(config, {
  folder: path.join(import.meta.dirname, '..'),
  rewardBefore: 0.5,
  traces: [openedDoor],
  // About four minutes on an idle machine: one process of Claude Code for each of the 256 rollouts.
  timeoutMs: 1_200_000,
});
