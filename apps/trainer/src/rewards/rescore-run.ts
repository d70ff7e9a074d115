import type { RewardChoice } from '@agentlightning/algorithms';
import { finalReward } from '@agentlightning/algorithms/internal';
import type { JsonValue, Rollout, RolloutMode, Store } from '@agentlightning/core';
import { mean } from '../events/mean.ts';
import { rankCorrelation } from '../events/rank-correlation.ts';
import { type FinishedRollout, readFinishedRollouts } from '../results/finished-rollout.ts';
import { groupRollouts } from '../rollouts/collect-rollouts.ts';
import { type ComputedReward, type OutputScores, scoreSiblings, storedOutput } from './score-outputs.ts';

/** A stored rollout with its recorded and its new reward. */
export interface RescoredRollout extends OutputScores {
  readonly rolloutId: string;
  readonly groupId: string;
  readonly task: JsonValue;
  readonly output: JsonValue;
  /** Null without a recorded reward. */
  readonly recorded: number | null;
  /**
   * Whether the rollout is above its group's mean by one reward and below it by the other, so that a training would learn the
   * opposite from it.
   */
  readonly changesSide: boolean;
}

/** The comparison of the recorded rewards of a run with new ones. */
export interface RescoreReport {
  readonly rollouts: number;
  /** Rollouts without a recorded output, of which the text of the last response was scored. */
  readonly byLastResponse: number;
  readonly missing: { readonly recorded: number; readonly rescored: number };
  /** Means over the rollouts that have both rewards; null without any. */
  readonly mean: { readonly recorded: number | null; readonly rescored: number | null };
  /** Spearman's rank correlation of the two; null where one of them is constant. */
  readonly rankCorrelation: number | null;
  readonly changedSides: number;
  /** Means of the parts over the rollouts that have them. */
  readonly parts: Readonly<Record<string, number>>;
}

/** Options of {@link rescoreRun}. */
export interface RescoreOptions {
  readonly store: Store;
  readonly runId: string;
  readonly modes: readonly RolloutMode[];
  readonly reward: ComputedReward;
  readonly signal: AbortSignal;
  /** Receives each rollout as soon as its group is scored. */
  readonly onRollout: (rollout: RescoredRollout, finished: FinishedRollout) => void | Promise<void>;
}

/**
 * Scores the stored rollouts of a run by another reward, without running agents. The stored rewards remain.
 *
 * @throws the reason of the signal; AgentLightningError NOT_FOUND without the run
 */
export async function rescoreRun({
  store,
  runId,
  modes,
  reward,
  signal,
  onRollout,
}: RescoreOptions): Promise<RescoreReport> {
  const { config } = await store.getRun(runId);
  const { items } = await store.queryRollouts({ runId, modeIn: [...modes], statusIn: ['succeeded'] });
  const groups = groupRollouts(items.map((rollout) => ({ rollout, attemptId: null, spans: [] })));
  const all: RescoredRollout[] = [];
  let byLastResponse = 0;
  for (const { groupId, rollouts } of groups) {
    signal.throwIfAborted();
    const finished = await readFinishedRollouts(
      store,
      rollouts.map(({ rollout }) => rollout),
    );
    const stored = finished.map(({ spans }) => storedOutput(spans));
    byLastResponse += stored.filter(({ isRecorded }) => !isRecorded).length;
    const given = stored.map(({ output }) => output);
    const scored = await scoreSiblings(
      reward,
      finished.map(({ rollout, spans }, index) => ({
        ...inputOf(rollout),
        output: given[index],
        spans: async () => spans,
        signal,
      })),
    );
    for (const each of withSides(finished, scored, { groupId, given, recorded: recordedChoice(config) })) {
      all.push(each.rescored);
      await onRollout(each.rescored, each.finished);
    }
  }
  return reportOf(all, byLastResponse);
}

function inputOf({ input, rolloutId, mode }: Rollout) {
  return { task: input, rolloutId, mode };
}

function withSides(
  finished: readonly FinishedRollout[],
  scored: readonly OutputScores[],
  {
    groupId,
    given,
    recorded: choice,
  }: { readonly groupId: string; readonly given: readonly JsonValue[]; readonly recorded: RewardChoice },
): readonly { readonly rescored: RescoredRollout; readonly finished: FinishedRollout }[] {
  const recorded = finished.map(({ spans }) => finalReward(spans, choice));
  const before = mean(recorded.flatMap((value) => value ?? []));
  const after = mean(scored.flatMap(({ reward }) => reward ?? []));
  return finished.map((each, index) => {
    const { reward = null, scores = {} } = scored[index] ?? {};
    const old = recorded[index] ?? null;
    const side = (value: number | null, average: number | null): number =>
      value === null || average === null ? 0 : Math.sign(value - average);
    return {
      finished: each,
      rescored: {
        rolloutId: each.rollout.rolloutId,
        groupId,
        task: each.rollout.input,
        output: given[index] ?? null,
        recorded: old,
        reward,
        scores,
        changesSide: side(old, before) * side(reward, after) < 0,
      },
    };
  });
}

/** The dimensions that the run learned from, as its record has them. */
export function recordedChoice(config: Readonly<Record<string, unknown>>): RewardChoice {
  const { algorithm } = config;
  if (typeof algorithm !== 'object' || algorithm === null) return {};
  const { rewardName, rewardWeights } = algorithm as RewardChoice;
  return {
    ...(typeof rewardName === 'string' ? { rewardName } : {}),
    ...(typeof rewardWeights === 'object' ? { rewardWeights } : {}),
  };
}

function reportOf(all: readonly RescoredRollout[], byLastResponse: number): RescoreReport {
  const both = all.flatMap(({ recorded, reward }) =>
    recorded === null || reward === null ? [] : [{ recorded, reward }],
  );
  const names = [...new Set(all.flatMap(({ scores }) => Object.keys(scores)))];
  return {
    rollouts: all.length,
    byLastResponse,
    missing: {
      recorded: all.filter(({ recorded }) => recorded === null).length,
      rescored: all.filter(({ reward }) => reward === null).length,
    },
    mean: { recorded: mean(both.map(({ recorded }) => recorded)), rescored: mean(both.map(({ reward }) => reward)) },
    rankCorrelation: rankCorrelation(both.map(({ recorded, reward }) => [recorded, reward])),
    changedSides: all.filter(({ changesSide }) => changesSide).length,
    parts: Object.fromEntries(
      names.flatMap((name) => {
        const value = mean(all.flatMap(({ scores }) => scores[name]?.score ?? []));
        return value === null ? [] : [[name, value]];
      }),
    ),
  };
}
