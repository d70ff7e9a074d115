import type { Trajectory } from '@agentlightning/core/algorithm';
import { aTrajectory, aTrajectoryRow } from '@agentlightning/core/testing';

/** The writer and the critic have their own rewards, the boss has that of the rollout. Every turn has one token. */
export const teamwork: Trajectory = aTrajectory({
  reward: 0.5,
  agentRewards: { writer: 0.25, critic: -1 },
  rows: [
    aTrajectoryRow([
      { sequenceId: 1, agentName: 'writer' },
      { sequenceId: 4, agentName: 'writer' },
    ]),
    aTrajectoryRow([
      { sequenceId: 2, agentName: 'critic' },
      { sequenceId: 3, agentName: 'boss' },
    ]),
  ],
});
