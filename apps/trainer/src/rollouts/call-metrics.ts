import type { ModelCall } from '@agentlightning/core';
import type { CollectedRollout } from '@agentlightning/core/algorithm';
import { familyMetric, runMetrics } from '@agentlightning/core/metrics';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { RewardDefinition } from '../config/reward-definition.ts';
import type { SamplingConfig } from '../config/sections/sampling-config.ts';
import { mean } from '../events/mean.ts';
import { rankCorrelation } from '../events/rank-correlation.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { rolloutReward } from '../results/rollout-reward.ts';
import { groupRollouts } from './collect-rollouts.ts';

/** Metrics of the trainable model calls of a step: those of the group `response`, and altered sampling. */
export function callMetrics(rollouts: readonly CollectedRollout[]): Readonly<Record<string, number>> {
  const calls = trainableCalls(rollouts);
  const choices = calls.flatMap((call) => call.choices);
  const lengths = choices.map(({ responseTokenIds }) => responseTokenIds.length);
  const altered = Object.entries(alteredSamplingCounts(calls)).map(([name, count]) => [
    familyMetric(runMetrics.callsAlteredSampling, name),
    count,
  ]);
  if (lengths.length === 0) return {};
  return {
    [runMetrics.responseTokensMean.name]: mean(lengths) ?? 0,
    [runMetrics.responseTokensMax.name]: lengths.reduce((max, length) => Math.max(max, length), 0),
    [runMetrics.responseTruncatedShare.name]:
      choices.filter(({ finishReason }) => finishReason === 'length').length / choices.length,
    ...distinctShare(rollouts),
    ...Object.fromEntries(altered),
  };
}

/** 0 when all rollouts of a group have the same responses, and 1 when all are different. */
function distinctShare(rollouts: readonly CollectedRollout[]): Readonly<Record<string, number>> {
  const shares = groupRollouts(rollouts).flatMap(({ rollouts: members }) => {
    if (members.length < 2) return [];
    const texts = members.map((member) =>
      JSON.stringify(trainableCalls([member]).map(({ choices }) => choices.map((choice) => choice.responseTokenIds))),
    );
    return [(new Set(texts).size - 1) / (members.length - 1)];
  });
  const share = mean(shares);
  return share === null ? {} : { [runMetrics.responseDistinctShare.name]: share };
}

/** The mean over groups of the rank correlation of response tokens and reward; no metric where either is equal in every group. */
export function lengthMetrics(
  rollouts: readonly FinishedRollout[],
  definition: RewardDefinition,
): Readonly<Record<string, number>> {
  const correlation = mean(
    groupRollouts(rollouts).flatMap(({ rollouts: members }: { readonly rollouts: readonly FinishedRollout[] }) => {
      const pairs = members.flatMap((member) => {
        const reward = rolloutReward(member, definition);
        const choices = trainableCalls([member]).flatMap((call) => call.choices);
        const tokens = choices.reduce((sum, { responseTokenIds }) => sum + responseTokenIds.length, 0);
        return reward === null || member.failure !== null ? [] : [[tokens, reward] as const];
      });
      return rankCorrelation(pairs) ?? [];
    }),
  );
  return correlation === null ? {} : { [runMetrics.responseLengthCorrelation.name]: correlation };
}

/** The model calls that can be trained on. */
export function trainableCalls(rollouts: readonly Pick<CollectedRollout, 'spans'>[]): readonly ModelCall[] {
  return rollouts.flatMap(({ spans }) =>
    spans.map(modelCallFromSpan).filter((call): call is ModelCall => call?.isTrainable === true),
  );
}

/** The number of calls with each request parameter that alters sampling. */
export function alteredSamplingCounts(calls: readonly ModelCall[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const name of calls.flatMap(({ alteredSampling = [] }) => alteredSampling)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

/** The sampling parameters that calls asked for and the configuration replaces: `temperature 0.2 by 1`. */
export function overriddenSampling(
  calls: readonly Pick<ModelCall, 'request'>[],
  { temperature, topP, maxTokens }: SamplingConfig,
): readonly string[] {
  const found = new Set<string>();
  const compare = (name: string, asked: unknown, given: number | undefined): void => {
    if (typeof asked === 'number' && given !== undefined && asked !== given) found.add(`${name} ${asked} by ${given}`);
  };
  for (const { request } of calls) {
    const asked = request?.['max_completion_tokens'] ?? request?.['max_tokens'];
    compare('temperature', request?.['temperature'], temperature);
    compare('top_p', request?.['top_p'], topP);
    // The lower limit applies.
    if (typeof asked === 'number' && asked > (maxTokens ?? asked)) compare('max_tokens', asked, maxTokens);
  }
  return [...found];
}
