import { bootstrapMean } from '@agentlightning/algorithms';
import { AgentLightningError } from '@agentlightning/core';
import { type EvaluationSummary, evaluationSummarySchema } from '@agentlightning/core/protocol';
import { findFinalReward } from '@agentlightning/core/spans';
import { z } from 'zod';
import type { RewardDefinition } from '../config/reward-definition.ts';
import type { RewardRange } from '../config/sections/reward-config.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { rolloutReward } from '../results/rollout-reward.ts';

/** Rewards in the order of tasks; null for a missing reward. */
export interface MeasuredRewards {
  readonly rewards: readonly (number | null)[];
  /** The rollouts, in the same order. */
  readonly rolloutIds: readonly string[];
  /** The number of rollouts whose agent failed. */
  readonly failed: number;
  /** The number of rollouts of each task, which are next to each other. */
  readonly rolloutsPerTask: number;
  /** The text of the last model call, in the same order; null without a short one. @default not recorded */
  readonly responses?: readonly (string | null)[];
  /** The values of each part of a reward with several, in the same order. @default none */
  readonly parts?: Readonly<Record<string, readonly (number | null)[]>>;
}

/** An evaluation with the rewards that the final comparison needs. */
export interface StoredEvaluation extends EvaluationSummary, MeasuredRewards {}

/** The evaluation of a run without test tasks. */
export function noEvaluation(rolloutsPerTask: number): StoredEvaluation {
  return { rolloutsPerTask, rewards: [], rolloutIds: [], reward: 0, ci95: [0, 0], rollouts: 0, failed: 0, missing: 0 };
}

/** An evaluation in the state of a run. */
export const storedEvaluationSchema: z.ZodType<StoredEvaluation> = z.intersection(
  evaluationSummarySchema,
  z.object({
    rewards: z.array(z.number().nullable()),
    rolloutIds: z.array(z.string()),
    // Absent in older states.
    rolloutsPerTask: z.int().min(1).default(1),
    parts: z.record(z.string(), z.array(z.number().nullable())).exactOptional(),
    responses: z.array(z.string().nullable()).exactOptional(),
  }),
);

/** The rewards of finished rollouts, in the order of tasks. */
export function measureRewards(
  rollouts: readonly FinishedRollout[],
  substitutes: RewardDefinition,
  rolloutsPerTask: number,
): MeasuredRewards {
  return {
    rolloutsPerTask,
    rewards: rollouts.map((rollout) => rolloutReward(rollout, substitutes)),
    rolloutIds: rollouts.map(({ rollout }) => rollout.rolloutId),
    failed: rollouts.filter(({ failure }) => failure === 'agent').length,
    ...partsOf(rollouts, substitutes),
  };
}

/** The parts of the rewards; of a failed agent, each is `reward.failed`. */
function partsOf(
  rollouts: readonly FinishedRollout[],
  { failedReward }: RewardDefinition,
): Pick<MeasuredRewards, 'parts'> {
  const final = rollouts.map(({ failure, spans }) => (failure === null ? (findFinalReward(spans)?.rewards ?? []) : []));
  const names = [...new Set(final.flatMap((rewards) => rewards.map(({ name }) => name)))];
  if (names.length < 2) return {};
  const valuesOf = (name: string): readonly (number | null)[] =>
    rollouts.map(({ failure }, index) =>
      failure === 'agent' ? failedReward : (final[index]?.find((reward) => reward.name === name)?.value ?? null),
    );
  return { parts: Object.fromEntries(names.map((name) => [name, valuesOf(name)])) };
}

/**
 * The warning that the interval of equal rewards depends on a range that was not declared and that they are outside of.
 *
 * @returns null where it does not
 */
export function assumedRangeText({ rewards }: MeasuredRewards, range: RewardRange | null): string | null {
  const known = rewards.filter((reward) => reward !== null);
  const [value = 0] = known;
  if (range !== null || (value >= 0 && value <= 1) || known.some((reward) => reward !== value)) return null;
  const assumed = `${Math.min(0, value)} to ${Math.max(1, value)}`;
  return `all rewards of an evaluation are ${value}: their interval assumes the range ${assumed}; set the true one as \`reward.range\``;
}

/**
 * The mean of the rewards that exist, with its confidence interval by the bootstrap of tasks.
 *
 * @throws AgentLightningError INVALID_REWARD when no rollout has a reward
 */
export function summariseRewards(measured: MeasuredRewards, range: RewardRange | null): StoredEvaluation {
  const known = measured.rewards.filter((reward) => reward !== null);
  const missing = measured.rewards.length - known.length;
  if (known.length === 0) {
    throw withoutReward(measured);
  }
  const { mean, low, high } = bootstrapMean(byTask(measured.rewards, measured.rolloutsPerTask), {
    range: range ?? undefined,
  });
  return { ...measured, reward: mean, ci95: [low, high], rollouts: known.length, missing };
}

function withoutReward({ rolloutIds, failed, rewards }: MeasuredRewards): AgentLightningError {
  const [rollout = ''] = rolloutIds;
  const because = failed === 0 ? '' : `; the agent failed in ${failed} of them`;
  return new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `none of the ${rewards.length} rollouts of the evaluation has a reward${because}`,
    remedy: `Return a number from the agent, or score its output with \`reward\` in the configuration; \`agl show ${rollout}\` shows what happened.`,
    details: { rollout },
  });
}

/** The values that exist, by task. */
export function byTask(values: readonly (number | null)[], rolloutsPerTask: number): readonly (readonly number[])[] {
  return Array.from({ length: Math.ceil(values.length / rolloutsPerTask) }, (_, task) =>
    values.slice(task * rolloutsPerTask, (task + 1) * rolloutsPerTask).filter((value) => value !== null),
  );
}

/** The summary of an evaluation, without its rewards. */
export function summaryOf({ reward, ci95, rollouts, failed, missing }: EvaluationSummary): EvaluationSummary {
  return { reward, ci95, rollouts, failed, missing };
}
