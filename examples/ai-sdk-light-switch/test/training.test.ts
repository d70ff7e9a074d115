// @module-tag long
import path from 'node:path';
import { testTraining } from '@agentlightning/example-training-test';
import config from '../agl.config.ts';

testTraining(config, {
  folder: path.join(import.meta.dirname, '..'),
  changes: { steps: 8, tasksPerStep: 16 },
  rewardBefore: 0.35,
  traces: ['check', 'switch_on'].map(answeredBy),
});

/** The trace of a rollout with one tool call. */
function answeredBy(tool: string): string {
  return `rollout rollout
  agent light-switch
    step step 1
      model-call gpt-4.1-mini
      tool-call ${tool}
  reward reward
`;
}
