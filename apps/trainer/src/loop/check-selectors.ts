import { AgentLightningError } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { isAgentAmong } from '@agentlightning/core/internal';
import type { RunWarning } from '@agentlightning/core/protocol';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { policyKey } from '../config/policies.ts';
import type { SessionPolicy } from '../session/session-policies.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { emitted } from './emit-run-warnings.ts';
import type { PolicyStep } from './step-outcome.ts';
import { callers, selectedCalls } from './warn-excluded.ts';

/** The parts of a session that selectors are checked with. */
export interface SelectorSession extends Pick<TrainingSession, 'emit'> {
  readonly policies: readonly Pick<SessionPolicy, 'name' | 'agents' | 'modelNames' | 'algorithm'>[];
}

/**
 * Checks in the first step that the selectors of each policy match model calls. A name that matches no agent is reported;
 * agents that are called rarely may follow.
 *
 * @returns the emitted warnings
 * @throws AgentLightningError CONFIG when all model calls are excluded from the training of a policy
 */
export function checkSelectors(
  { policies, emit }: SelectorSession,
  {
    collected,
    outcomes,
    step,
  }: {
    readonly collected: readonly CollectedRollout[];
    readonly outcomes: readonly {
      readonly policy: Pick<SessionPolicy, 'name'>;
      readonly plan: Pick<PolicyStep['plan'], 'metrics'>;
    }[];
    readonly step: number;
  },
): readonly RunWarning[] {
  if (step !== 1) return [];
  for (const { policy, plan } of outcomes) {
    if (selectedCalls(plan.metrics) === 0) throw nothingSelected(policy, callers(collected));
  }
  const names = severalModelNames(policies, collected);
  return emitted(emit, [
    ...policies.flatMap((policy) => unmatchedSelectors(policy, collected)),
    ...(names === null ? [] : [{ name: 'several-model-names' as const, step: 1, policy: null, message: names }]),
  ]);
}

function unmatchedSelectors(
  policy: SelectorSession['policies'][number],
  collected: readonly CollectedRollout[],
): readonly RunWarning[] {
  return unmatchedAgents(policy, collected).map((message) => ({
    name: 'unmatched-selector',
    step: 1,
    policy: policy.name,
    message,
  }));
}

/** A message for each selector of a policy that matches no model call. */
export function unmatchedAgents(
  policy: SelectorSession['policies'][number],
  collected: readonly CollectedRollout[],
): readonly string[] {
  const calls = collected.flatMap(({ spans }) => spans.flatMap((span) => modelCallFromSpan(span) ?? []));
  return agentSelectors(policy)
    .filter((agent) => !calls.some((call) => isAgentAmong([agent], call)))
    .map((agent) => `the selector "${agent}" matches no agent; agents seen: ${callers(collected)}`);
}

/** A message for a policy that agents request by several names that the configuration does not have; null for none. */
export function severalModelNames(
  policies: readonly Pick<SessionPolicy, 'name' | 'modelNames'>[],
  collected: readonly CollectedRollout[],
): string | null {
  const known = new Set(policies.flatMap(({ name, modelNames }) => [...modelNames, ...(name === null ? [] : [name])]));
  const requested = new Map<string, Set<string>>();
  for (const call of collected.flatMap(({ spans }) => spans.flatMap((span) => modelCallFromSpan(span) ?? []))) {
    const name = call.request?.['model'];
    if (typeof name !== 'string' || known.has(name) || name === call.model) continue;
    requested.set(call.model, (requested.get(call.model) ?? new Set()).add(name));
  }
  const several = [...requested.values()].find((names) => names.size > 1);
  if (several === undefined) return null;
  return `agents request the policy by several model names, ${[...several].map((name) => `"${name}"`).join(' and ')}, and it responds to and is trained on all of them`;
}

function agentSelectors({ agents, algorithm }: SelectorSession['policies'][number]): readonly string[] {
  const chosen = algorithm !== null && 'agents' in algorithm ? (algorithm.agents ?? []) : [];
  return [...new Set([...agents, ...chosen])];
}

function nothingSelected(policy: Pick<SessionPolicy, 'name'>, seen: string): AgentLightningError {
  const subject =
    policy.name === null ? 'the selectors of the algorithm' : `the selectors of policy ${policyKey(policy)}`;
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${subject} match no model call of step 1; agents seen: ${seen}`,
    remedy: 'Correct `agents`, `nodes`, `tags` or `onlyCalls`; `withAgent` names an agent whose framework does not.',
  });
}
