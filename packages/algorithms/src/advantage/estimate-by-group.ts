import { AgentLightningError } from '@agentlightning/core';
import type { AdvantageEstimate, RolloutReturn } from '@agentlightning/core/algorithm';

/**
 * Estimates advantages by group, with the special cases shared by all group-relative methods:
 *
 * - a rollout without a return gets 0 and is excluded from the mean,
 * - a group with one return gets 0,
 * - a group of equal returns gets exactly 0, regardless of rounding in the mean.
 *
 * @param returns - in any order; groups need not be contiguous
 * @param advantagesOf - the advantages of a group of two returns or more that are not all equal, given the returns and
 *   the number of trained tokens of each
 * @throws AgentLightningError with code `INVALID_REWARD` when a return is not finite
 */
export function estimateByGroup(
  returns: readonly RolloutReturn[],
  advantagesOf: (values: readonly number[], trainedTokens: readonly number[]) => readonly number[],
): AdvantageEstimate {
  const advantages = returns.map(() => 0);
  let singletonGroups = 0;
  let constantGroups = 0;
  for (const members of membersByGroup(returns).values()) {
    const values = members.map((member) => member.value);
    if (members.length === 1) singletonGroups += 1;
    else if (values.every((value) => value === values[0])) constantGroups += 1;
    else {
      const trainedTokens = members.map((member) => member.trainedTokens);
      for (const [rank, advantage] of advantagesOf(values, trainedTokens).entries())
        advantages[members[rank]?.position ?? 0] = advantage;
    }
  }
  return { advantages, singletonGroups, constantGroups };
}

interface Member {
  /** Its index among all returns. */
  readonly position: number;
  readonly value: number;
  readonly trainedTokens: number;
}

function membersByGroup(returns: readonly RolloutReturn[]): ReadonlyMap<string, readonly Member[]> {
  const groups = new Map<string, Member[]>();
  for (const [position, { rolloutId, groupId, value, trainedTokens }] of returns.entries()) {
    if (value === null) continue;
    if (!Number.isFinite(value)) {
      throw new AgentLightningError({
        code: 'INVALID_REWARD',
        message: `The return of rollout ${rolloutId} is ${value}`,
        details: { rolloutId, groupId },
      });
    }
    const members = groups.get(groupId) ?? [];
    members.push({ position, value, trainedTokens });
    groups.set(groupId, members);
  }
  return groups;
}
