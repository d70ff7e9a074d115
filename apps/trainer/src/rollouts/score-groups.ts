import { AgentLightningError, type SpanInput, type Store } from '@agentlightning/core';
import type { RewardInput, RewardPart, RewardVerdict } from '@agentlightning/core/algorithm';
import {
  annotationSpan,
  findScoredOutput,
  type JudgeUse,
  rewardsOfScores,
  scoredOutputAttributes,
  systemClock,
} from '@agentlightning/core/internal';
import { type PartScore, rewardAttributes } from '@agentlightning/core/spans';
import type { OutputScoring } from '@agentlightning/runner';
import { primaryPart, scoreInTime, scoringError, takeJudgeUses, verdictScore } from '@agentlightning/runner/internal';
import pMap from 'p-map';
import type { FinishedRollout } from '../results/finished-rollout.ts';

/** The dependencies of {@link scoreGroups}. */
export interface GroupScoring {
  readonly store: Store;
  /** Null, a function, and parts without `scoreGroup` score no groups. */
  readonly scoring: OutputScoring | null;
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
}

/** A part that scores groups, with its name. */
export type GroupPart = readonly [name: string, part: RewardPart & Required<Pick<RewardPart, 'scoreGroup'>>];

/** Groups that are scored at the same time. */
const concurrency = 8;

/** The longest time of a part for one group, in milliseconds. */
const maxGroupMs = 300_000;

/**
 * Scores complete groups by the parts of the reward that compare siblings, and records the scores with those that the runner
 * computed. Rollouts whose agent failed take no part. A part that fails is missing in the whole group, with its reason. Scores
 * of an earlier process are kept.
 *
 * @param groups - of finished rollouts
 * @returns the rollouts of all groups in their order, with the recorded rewards
 */
export async function scoreGroups(
  groups: readonly { readonly rollouts: readonly FinishedRollout[] }[],
  options: GroupScoring,
): Promise<readonly FinishedRollout[]> {
  const { scoring } = options;
  const parts = groupParts(scoring);
  if (scoring === null || parts.length === 0) return groups.flatMap(({ rollouts }) => rollouts);
  const failures = new Set<string>();
  const primary = primaryPart(scoring);
  const scored = await pMap(
    groups,
    async ({ rollouts }) => {
      const scores = await scoresOf(rollouts, parts, { ...options, failures });
      if (scores.size === 0) return rollouts;
      return await recordScores(options.store, rollouts, { scores, primary, judges: takeJudgeUses(scoring) });
    },
    { concurrency },
  );
  for (const failure of failures) options.warn(failure);
  return scored.flat();
}

/** The parts that score groups. */
export function groupParts(scoring: OutputScoring | null): readonly GroupPart[] {
  if (scoring === null || typeof scoring === 'function') return [];
  return Object.entries(scoring.parts).flatMap(([name, part]): GroupPart[] =>
    part.scoreGroup === undefined ? [] : [[name, { ...part, scoreGroup: part.scoreGroup.bind(part) }]],
  );
}

/** The scores of the runner and of the group, by rollout id; empty where nothing is to be scored. */
async function scoresOf(
  rollouts: readonly FinishedRollout[],
  parts: readonly GroupPart[],
  options: GroupScoring & { readonly failures: Set<string> },
): Promise<ReadonlyMap<string, Readonly<Record<string, PartScore>>>> {
  const members = rollouts.flatMap((rollout) => {
    const recorded = rollout.failure === null ? findScoredOutput(rollout.spans) : null;
    return recorded === null ? [] : [{ rollout, recorded }];
  });
  const isScored = members.every(({ recorded }) => parts.every(([name]) => Object.hasOwn(recorded.scores, name)));
  if (isScored) return new Map();
  const { signal } = options;
  const inputs = members.map(({ rollout: { rollout, spans }, recorded }): RewardInput => {
    const { rolloutId, mode, input } = rollout;
    return { task: input, output: recorded.output, rolloutId, mode, spans: () => Promise.resolve(spans), signal };
  });
  const scores = await groupScores(inputs, parts, options.failures);
  options.signal.throwIfAborted();
  return new Map(
    members.map(({ rollout, recorded }, index) => [
      rollout.rollout.rolloutId,
      { ...recorded.scores, ...scores[index] },
    ]),
  );
}

/**
 * The scores of siblings by the parts that compare them, in their order.
 *
 * @param failures - receives why parts are missing
 */
export async function groupScores(
  inputs: readonly RewardInput[],
  parts: readonly GroupPart[],
  failures: Set<string>,
): Promise<readonly Readonly<Record<string, PartScore>>[]> {
  const columns: (readonly [string, readonly PartScore[]])[] = [];
  for (const [name, part] of parts) columns.push([name, await verdictsOf(name, part, inputs, failures)]);
  const missing: PartScore = { score: null, reason: 'no verdict' };
  return inputs.map((_, index) =>
    Object.fromEntries(columns.map(([name, column]) => [name, column[index] ?? missing])),
  );
}

async function verdictsOf(
  name: string,
  part: GroupPart[1],
  inputs: readonly RewardInput[],
  failures: Set<string>,
): Promise<readonly PartScore[]> {
  try {
    if (inputs.some(({ output }) => output === undefined)) throw unrecordedOutput();
    const verdicts = await verdictsInTime(name, part, inputs);
    return verdicts.map((verdict) => verdictScore(verdict, name, part));
  } catch (error) {
    const reason = scoringError(name, error).message;
    failures.add(`Part "${name}" of the reward is missing in a group or several: ${reason}`);
    return inputs.map(() => ({ score: null, reason }));
  }
}

async function verdictsInTime(
  name: string,
  part: GroupPart[1],
  inputs: readonly RewardInput[],
): Promise<readonly RewardVerdict[]> {
  const verdicts = await scoreInTime(name, { clock: systemClock, timeoutMs: maxGroupMs }, async (signal) =>
    part.scoreGroup(inputs.map((input) => ({ ...input, signal: AbortSignal.any([input.signal, signal]) }))),
  );
  if (Array.isArray(verdicts) && verdicts.length === inputs.length) return verdicts;
  const given = Array.isArray(verdicts) ? `${verdicts.length} verdicts` : typeof verdicts;
  throw new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `"${name}" returned ${given} for ${inputs.length} rollouts`,
    remedy: 'Return a list with a verdict of each sibling, in their order.',
  });
}

function unrecordedOutput(): AgentLightningError {
  return new AgentLightningError({
    code: 'INVALID_REWARD',
    message: 'An output of the group was not recorded: it is larger than 1 MB, or has no JSON form',
    remedy: 'Return from the agent what the reward needs.',
  });
}

async function recordScores(
  store: Store,
  rollouts: readonly FinishedRollout[],
  {
    scores,
    primary,
    judges,
  }: {
    readonly scores: ReadonlyMap<string, Readonly<Record<string, PartScore>>>;
    readonly primary: string;
    /** Recorded once, with the first rollout. */
    readonly judges: Readonly<Record<string, JudgeUse>>;
  },
): Promise<readonly FinishedRollout[]> {
  const timeMs = systemClock.now();
  const [first] = scores.keys();
  const spans = rollouts.flatMap(({ rollout, attemptId }): SpanInput[] => {
    const own = scores.get(rollout.rolloutId);
    if (own === undefined || attemptId === null) return [];
    const attributes = {
      ...rewardAttributes(rewardsOfScores(own, primary)),
      ...scoredOutputAttributes({
        output: undefined,
        scores: own,
        ...(rollout.rolloutId === first && { judges }),
      }),
    };
    return [annotationSpan(attributes, { rolloutId: rollout.rolloutId, attemptId, timeMs })];
  });
  const recorded = (await store.appendSpans(spans)).filter((span) => span !== null);
  return rollouts.map((each) => ({
    ...each,
    spans: [...each.spans, ...recorded.filter(({ rolloutId }) => rolloutId === each.rollout.rolloutId)],
  }));
}
