import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { TrainingSession } from '../session/training-session.ts';
import type { PolicyStep } from './step-outcome.ts';

/** What is looked at of a policy's step. */
interface LearntStep {
  readonly policy: Pick<PolicyStep['policy'], 'name'>;
  readonly plan: Pick<PolicyStep['plan'], 'metrics'>;
}

/** Reasons that a user has chosen: these calls are not meant to be trained on. */
const chosenReasons: ReadonlySet<string> = new Set([
  'other_model',
  'other_agent',
  'other_node',
  'other_tag',
  'not_chosen',
]);

const callReason = 'calls/untrainable/';

/** Counts that say what else was left out: how one stands in a sentence, and how several do. */
const otherCounts: Readonly<Record<string, readonly [one: string, several: string]>> = {
  'rows/dropped': ['row that was longer than `maxTokens`', 'rows that were longer than `maxTokens`'],
  'rows/truncated': ['row whose end was cut, at `maxTokens`', 'rows whose ends were cut, at `maxTokens`'],
  'rollouts/without_reward': ['rollout without a reward', 'rollouts without a reward'],
};

/**
 * Tells, with counts and reasons, what of a step's rollouts is not learnt from. Each kind is told once in a run; the
 * metrics of every step have the numbers.
 */
export function warnOfLeftOut(
  session: Pick<TrainingSession, 'toldWarnings' | 'emit'>,
  {
    collected,
    outcomes,
    step,
  }: {
    readonly collected: readonly CollectedRollout[];
    readonly outcomes: readonly LearntStep[];
    readonly step: number;
  },
): void {
  for (const { policy, plan } of outcomes) {
    const who = policy.name === null ? '' : `policy ${policy.name}, `;
    const tell = (kind: string, text: string): void => {
      const key = `${who}${kind}`;
      if (session.toldWarnings.has(key)) return;
      session.toldWarnings.add(key);
      session.emit({ type: 'warning', message: `${who}step ${step}: ${text}` });
    };
    for (const { kind, text } of leftOut(plan.metrics)) tell(kind, text);
    const calls = chosenCalls(plan.metrics);
    if (calls === 0) tell('no calls', `none of the model calls is trained on; they were made ${callers(collected)}`);
  }
}

function leftOut(
  metrics: Readonly<Record<string, number>>,
): readonly { readonly kind: string; readonly text: string }[] {
  return Object.entries(metrics).flatMap(([name, count]) => {
    if (count === 0) return [];
    const other = otherCounts[name];
    if (other !== undefined) return [{ kind: name, text: `${count} ${other[count === 1 ? 0 : 1]}` }];
    const reason = name.startsWith(callReason) ? name.slice(callReason.length) : null;
    if (reason === null || chosenReasons.has(reason)) return [];
    const text = `${count} of ${metrics['calls/total'] ?? count} model calls cannot be trained on: ${reason.replaceAll('_', ' ')}`;
    return [{ kind: name, text }];
  });
}

/** How many calls are what the options choose; null when the algorithm does not say. */
function chosenCalls(metrics: Readonly<Record<string, number>>): number | null {
  const total = metrics['calls/total'];
  if (total === undefined) return null;
  const others = [...chosenReasons].map((reason) => metrics[callReason + reason] ?? 0);
  return Math.max(0, total - others.reduce((sum, count) => sum + count, 0));
}

/** Who called the model: `by writer (12), by nobody known (4)`. */
function callers(collected: readonly CollectedRollout[]): string {
  const counts = new Map<string, number>();
  for (const span of collected.flatMap(({ spans }) => spans)) {
    const call = modelCallFromSpan(span);
    if (call === null) continue;
    const who = `by ${call.agentName ?? 'nobody known'} at ${call.model}`;
    counts.set(who, (counts.get(who) ?? 0) + 1);
  }
  return [...counts].map(([who, count]) => `${who} (${count})`).join(', ') || 'by nobody';
}
