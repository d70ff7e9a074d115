import { newestPolicyVersion } from '@agentlightning/core/internal';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import type { SessionPolicy } from '../session/session-policies.ts';

/** The current policy version of each model, by its name at its endpoint. */
export type PolicyVersions = ReadonlyMap<string, number>;

/** Reads the current policy versions. */
export async function readPolicyVersions(policies: readonly Pick<SessionPolicy, 'model'>[]): Promise<PolicyVersions> {
  const endpoints = await Promise.all(policies.map(({ model }) => model.endpoint()));
  return new Map(endpoints.map(({ model, policyVersion }) => [model, policyVersion]));
}

/** The staleness of a group, in policy versions. */
export interface GroupStaleness {
  /** Of its oldest token; 0 without calls, and for calls of unknown version. */
  readonly max: number;
  /** Whether weights sampled some of it that no longer exist, because the run has resumed from an earlier checkpoint. */
  readonly isAhead: boolean;
}

/** Compares the versions that sampled a group with the current ones. */
export function groupStaleness(rollouts: readonly FinishedRollout[], versions: PolicyVersions): GroupStaleness {
  let max = 0;
  let isAhead = false;
  for (const call of rollouts.flatMap(({ spans }) => spans.map(modelCallFromSpan))) {
    const current = call === null ? undefined : versions.get(call.model);
    if (call?.policyVersion == null || current === undefined) continue;
    max = Math.max(max, current - call.policyVersion);
    isAhead ||= (newestPolicyVersion(call) ?? current) > current;
  }
  return { max, isAhead };
}
