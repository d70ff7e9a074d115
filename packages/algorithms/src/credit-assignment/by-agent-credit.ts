import { ValidationError } from '@agentlightning/core';
import type { CreditAssignment, Trajectory } from '@agentlightning/core/algorithm';

/** Options of {@link byAgentCredit}. */
export interface ByAgentCreditOptions {
  /**
   * Share of the rollout's reward that is added to each agent's own rewards, at least 0.
   *
   * @default 0
   */
  readonly team?: number;
}

/**
 * Credits every agent with its own rewards: `G_k = Σ r_a + team·R` for every turn `k` of agent `a`. An agent without its own
 * reward gets the reward of the rollout, `R`, so that it is trained too. Each agent is compared with the same agent in the
 * other rollouts of the group.
 *
 * A reward belongs to an agent when it is linked to a step of the agent, was emitted while the agent was active
 * (`withAgent('critic', () => emitReward(0.5))`, a node of a graph, an agent of a framework), or was given by a rule of
 * `air` to one of its turns. The reward of the rollout is the reward that the agent function returns or emits outside of any
 * agent.
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
