import type { CreditAssignment } from '@agentlightning/core';
import { ValidationError } from '@agentlightning/core';
import type { Trajectory } from '@agentlightning/core/algorithm';

/** What agents that work together are credited with. */
export interface ByAgentCreditOptions {
  /**
   * How much of the rollout's reward an agent gets besides the rewards that were meant for it, from 0 on.
   *
   * @default 0
   */
  readonly team?: number;
}

/**
 * Every agent deserves the rewards that were meant for it: `G_k = Σ r_a + team·R` for every turn `k` of agent `a`. An agent
 * that none was meant for gets the reward of the rollout, `R`, so that an agent without a separate reward is not left
 * untrained. Each agent is compared with itself in the other rollouts of the group.
 *
 * A reward is meant for an agent when it is linked to a step of the agent, or was emitted while the agent was at work
 * (`withAgent('critic', () => emitReward(0.5))`, a node of a graph, an agent of a framework), or a rule of `air` gave it to
 * one of its turns. What the whole rollout comes to is what the task's agent returns, or emits outside of any agent.
 *
 * @throws ValidationError when `team` is not a number of 0 or more
 *
 * @example
 * ```ts
 * const algorithm = grpo({ creditAssignment: { type: 'by-agent', team: 0.5 } });
 * ```
 */
export function byAgentCredit(options: ByAgentCreditOptions = {}): CreditAssignment {
  const team = options.team ?? 0;
  if (!(team >= 0 && Number.isFinite(team))) {
    throw new ValidationError('The credit assignment by agent', [
      { path: 'team', message: `must be a number of 0 or more, not ${team}` },
    ]);
  }
  return {
    name: 'by-agent',
    scope: 'agent',
    assign: (trajectory) => {
      const returns = trajectory.rows.map((row) =>
        row.trained.map(({ agentName }) => returnOf(trajectory, agentName, team)),
      );
      const isCredited = trajectory.reward !== null || returns.flat().some((value) => value !== null);
      return isCredited ? returns : null;
    },
  };
}

function returnOf({ reward, agentRewards = {} }: Trajectory, agent: string | null, team: number): number | null {
  if (agent === null || !Object.hasOwn(agentRewards, agent)) return reward;
  return (agentRewards[agent] ?? 0) + team * (reward ?? 0);
}
