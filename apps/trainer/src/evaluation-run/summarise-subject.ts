import { bootstrapMean } from '@agentlightning/algorithms';
import { runMetrics } from '@agentlightning/core/metrics';
import { findFinalReward } from '@agentlightning/core/spans';
import { bestConstantResponse, lastResponse } from '../evaluation/constant-response.ts';
import { rewardMetrics } from '../evaluation/reward-metrics.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { countFailures } from '../rollouts/failure-metrics.ts';
import {
  assumedRangeText,
  byTask,
  type MeasuredRewards,
  summariseRewards,
  summaryOf,
} from '../run/stored-evaluation.ts';
import type { EvaluationListener } from './evaluation-event.ts';
import type { EvaluatedSubject } from './evaluation-report.ts';
import type { EvaluationSettings } from './evaluation-settings.ts';

/** The finished rollouts of a subject, and their rewards in the same order. */
export interface SubjectRollouts {
  readonly collected: readonly FinishedRollout[];
  readonly rewards: MeasuredRewards;
  readonly settings: Pick<EvaluationSettings, 'reward' | 'shared'>;
  readonly emit: EvaluationListener;
}

/**
 * The mean reward of a subject with its interval, the means of its parts, and its failures by cause. Rewards outside of the
 * declared range are reported.
 */
export function summariseSubject(subject: string, rollouts: SubjectRollouts): EvaluatedSubject {
  const { collected, rewards, settings, emit } = rollouts;
  const summary = summaryOf(summariseRewards(rewards, settings.reward.range));
  const outside = rewardMetrics(collected, settings.shared.rewards, null)[runMetrics.rewardOutOfRange.name] ?? 0;
  if (outside > 0) {
    emit({ type: 'warning', message: `${outside} rewards of ${subject} are outside of the declared range` });
  }
  const assumed = assumedRangeText(rewards, settings.reward.range);
  if (assumed !== null) emit({ type: 'warning', message: assumed });
  // A model that is only evaluated needs no trainable calls.
  const failures = Object.entries(countFailures(collected)).filter(([cause, n]) => cause !== 'untrainable' && n > 0);
  return {
    subject,
    ...summary,
    missingShare: summary.missing / (summary.missing + summary.rollouts),
    parts: partsOf(rollouts),
    failures: Object.fromEntries(failures),
    constantResponse: bestConstantResponse([
      { ...rewards, responses: collected.map(({ spans }) => lastResponse(spans)) },
    ]),
  };
}

function partsOf({ collected, rewards, settings }: SubjectRollouts): EvaluatedSubject['parts'] {
  const final = collected.map(({ failure, spans }) =>
    failure === null ? (findFinalReward(spans)?.rewards ?? []) : [],
  );
  const names = [...new Set(final.flatMap((parts) => parts.map(({ name }) => name)))];
  if (names.length < 2) return {};
  const entries = names.map((name) => {
    const values = final.map((parts) => parts.find((part) => part.name === name)?.value ?? null);
    const { parts } = settings.shared.rewards;
    const range = (Object.hasOwn(parts, name) ? parts[name]?.range : null) ?? settings.reward.range ?? undefined;
    const { mean, low, high, count } = bootstrapMean(byTask(values, rewards.rolloutsPerTask), { range });
    return [name, { reward: mean, ci95: [low, high] as const, rollouts: count }] as const;
  });
  return Object.fromEntries(entries);
}
