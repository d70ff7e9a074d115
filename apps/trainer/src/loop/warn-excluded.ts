import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { familyMetric, familyPart, runMetrics } from '@agentlightning/core/metrics';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { TrainingSession } from '../session/training-session.ts';
import type { PolicyStep } from './step-outcome.ts';

/** The parts of a policy's step that the warnings depend on. */
interface ObservedStep {
  readonly policy: Pick<PolicyStep['policy'], 'name'>;
  readonly plan: Pick<PolicyStep['plan'], 'metrics'>;
}

/** Exclusions that the user has configured. */
const configuredReasons: ReadonlySet<string> = new Set([
  'other_model',
  'other_agent',
  'other_node',
  'other_tag',
  'not_chosen',
]);

/** Other metrics that count exclusions, with their singular and plural text. */
const exclusionTexts: Readonly<Record<string, readonly [singular: string, plural: string]>> = {
  [runMetrics.rowsDropped.name]: ['row that was longer than `maxTokens`', 'rows that were longer than `maxTokens`'],
  [runMetrics.rowsTruncated.name]: ['row that was truncated to `maxTokens`', 'rows that were truncated to `maxTokens`'],
  [runMetrics.rolloutsWithoutReward.name]: ['rollout without a reward', 'rollouts without a reward'],
};

/**
 * Emits a warning, with counts and reasons, for rollouts and model calls of a step that are excluded from training. Each
 * kind is emitted once per run; the metrics of every step contain the counts.
 */
export function warnExcluded(
  session: Pick<TrainingSession, 'emittedWarnings' | 'emit'>,
  {
    collected,
    outcomes,
    step,
  }: {
    readonly collected: readonly CollectedRollout[];
    readonly outcomes: readonly ObservedStep[];
    readonly step: number;
  },
): void {
  for (const { policy, plan } of outcomes) {
    const prefix = policy.name === null ? '' : `policy ${policy.name}, `;
    const warn = (kind: string, text: string): void => {
      const key = `${prefix}${kind}`;
      if (session.emittedWarnings.has(key)) return;
      session.emittedWarnings.add(key);
      session.emit({ type: 'warning', message: `${prefix}step ${step}: ${text}` });
    };
    for (const { kind, text } of exclusions(plan.metrics)) warn(kind, text);
    const calls = selectedCalls(plan.metrics);
    if (calls === 0) warn('no calls', `all model calls are excluded from training; callers: ${callers(collected)}`);
  }
}

function exclusions(
  metrics: Readonly<Record<string, number>>,
): readonly { readonly kind: string; readonly text: string }[] {
  return Object.entries(metrics).flatMap(([name, count]) => {
    if (count === 0) return [];
    const texts = exclusionTexts[name];
    if (texts !== undefined) return [{ kind: name, text: `${count} ${texts[count === 1 ? 0 : 1]}` }];
    const reason = familyPart(runMetrics.callsUntrainableBy, name);
    if (reason === null || configuredReasons.has(reason)) return [];
    const text = `${count} of ${metrics[runMetrics.callsTotal.name] ?? count} model calls are excluded from training: ${reason.replaceAll('_', ' ')}`;
    return [{ kind: name, text }];
  });
}

/** The number of calls that the configuration does not exclude; null when the algorithm does not count calls. */
export function selectedCalls(metrics: Readonly<Record<string, number>>): number | null {
  const total = metrics[runMetrics.callsTotal.name];
  if (total === undefined) return null;
  const excluded = [...configuredReasons].map(
    (reason) => metrics[familyMetric(runMetrics.callsUntrainableBy, reason)] ?? 0,
  );
  return Math.max(0, total - excluded.reduce((sum, count) => sum + count, 0));
}

/** The callers of the model: `writer at run-1 (12), unknown agent at run-1 (4)`. */
export function callers(collected: readonly CollectedRollout[]): string {
  const counts = new Map<string, number>();
  for (const span of collected.flatMap(({ spans }) => spans)) {
    const call = modelCallFromSpan(span);
    if (call === null) continue;
    const caller = `${call.agentName ?? 'unknown agent'} at ${call.model}`;
    counts.set(caller, (counts.get(caller) ?? 0) + 1);
  }
  return [...counts].map(([caller, count]) => `${caller} (${count})`).join(', ') || 'none';
}
