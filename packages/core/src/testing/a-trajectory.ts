import type { CollectedGroup, CollectedRollout } from '../algorithm/algorithm.ts';
import type { TrainedInterval, Trajectory, TrajectoryRow } from '../algorithm/trajectory.ts';
import type { Transition } from '../algorithm/transition.ts';
import type { ModelCall } from '../spans/model-call.ts';
import { modelCallToSpan } from '../spans/model-call-span.ts';
import type { Span } from '../spans/span.ts';
import type { RolloutStatus } from '../store/rollout-status.ts';
import { aRollout } from './a-rollout.ts';
import { aRewardSpan } from './a-span.ts';

/** A turn of a row: number of input tokens before it, number of sampled tokens, and interval fields. */
export interface ATurn extends Partial<Omit<TrainedInterval, 'start' | 'end'>> {
  /** @default 2 */
  readonly given?: number;
  /** @default 2 */
  readonly sampled?: number;
}

/** Log-probability of a token in the builders: different for every id, so that an off-by-one shift is detected. */
export function logprobOf(tokenId: number): number {
  return -(1 + tokenId) / 1024;
}

/** A row of these turns, numbered from 1 without sequence ids. Its tokens are 1, 2, 3 and so on. */
export function aTrajectoryRow(turns: readonly ATurn[] = [{}, {}], temperature: number = 1): TrajectoryRow {
  let length = 0;
  const trained = turns.map(({ given = 2, sampled = 2, ...turn }, index): TrainedInterval => {
    const start = length + given;
    length = start + sampled;
    return { sequenceId: index + 1, agentName: null, reward: null, policyVersion: 0, ...turn, start, end: length };
  });
  const tokenIds = Array.from({ length }, (_, position) => position + 1);
  const samplingLogprobs = trained.flatMap(({ start, end }) => tokenIds.slice(start, end).map(logprobOf));
  return { tokenIds, trained, samplingLogprobs, temperature };
}

/** A trajectory of one row with two turns and reward 1; pass only the fields relevant to the test. */
export function aTrajectory(fields: Partial<Trajectory> = {}): Trajectory {
  return {
    rolloutId: 'ro-1',
    attemptId: 'at-1',
    groupId: 'gr-1',
    reward: 1,
    rows: [aTrajectoryRow()],
    ...fields,
  };
}

/** A model call as a transition; the log-probabilities are those of {@link logprobOf} unless given. */
export function aTransition(fields: Partial<Transition> = {}): Transition {
  const responseTokenIds = fields.responseTokenIds ?? [4, 5];
  return {
    rolloutId: 'ro-1',
    attemptId: 'at-1',
    spanId: '00f067aa0ba902b7',
    sequenceId: 1,
    agentName: null,
    agentPath: null,
    promptTokenIds: [1, 2, 3],
    responseTokenIds,
    responseLogprobs: responseTokenIds.map(logprobOf),
    temperature: 1,
    policyVersion: 0,
    reward: null,
    ...fields,
  };
}

/** Fields of {@link aModelCall}. */
export interface AModelCall extends Partial<ModelCall> {
  /** @default [4, 5] */
  readonly responseTokenIds?: readonly number[];
  /** Policy version of each response token. @default `policyVersion` for all */
  readonly responsePolicyVersions?: readonly number[];
}

/** A trainable model call with one choice and tokens; pass only the fields relevant to the test. */
export function aModelCall(fields: AModelCall = {}): ModelCall {
  const { responseTokenIds = [4, 5], responsePolicyVersions: versions, ...call } = fields;
  const responseLogprobs = responseTokenIds.map(logprobOf);
  return {
    rolloutId: 'ro-1',
    attemptId: 'at-1',
    spanId: `00f067aa${String(fields.sequenceId ?? 1).padStart(8, '0')}`,
    sequenceId: 1,
    responseId: `chatcmpl-${fields.sequenceId ?? 1}`,
    model: 'tiny',
    policyVersion: versions === undefined ? 0 : Math.min(...versions),
    agentName: null,
    agentPath: null,
    promptTokenIds: [1, 2, 3],
    choices: [
      {
        index: 0,
        responseTokenIds,
        responseLogprobs,
        ...(versions && { responsePolicyVersions: versions }),
        finishReason: 'stop',
      },
    ],
    temperature: 1,
    isTrainable: true,
    untrainableReason: null,
    request: null,
    response: null,
    startTimeMs: 1_700_000_000_000,
    endTimeMs: 1_700_000_000_010,
    ...call,
  };
}

/** The span that records a model call, as the store returns it. */
export function aModelCallSpan(fields: AModelCall = {}): Span {
  const call = aModelCall(fields);
  return { ...modelCallToSpan(call), sequenceId: call.sequenceId };
}

/** Fields of {@link aCollectedRollout}. */
export interface ACollectedRollout {
  readonly rolloutId?: string;
  /** @default 'succeeded' */
  readonly status?: RolloutStatus;
  /** The model calls, in order. @default one call */
  readonly calls?: readonly AModelCall[];
  /** The reward after each call; null for none. @default none */
  readonly turnRewards?: readonly (number | null)[];
  /** The reward at the end; null for none. @default 1 */
  readonly reward?: number | null;
}

/** A finished rollout with spans in this order: model calls, turn rewards, final reward. */
export function aCollectedRollout(fields: ACollectedRollout = {}): CollectedRollout {
  const { rolloutId = 'ro-1', status = 'succeeded', calls = [{}], turnRewards = [], reward = 1 } = fields;
  const ids = { rolloutId, attemptId: 'at-1' };
  const spans: Span[] = [];
  for (const [index, call] of calls.entries()) {
    spans.push(aModelCallSpan({ ...ids, sequenceId: spans.length + 1, ...call }));
    const turnReward = turnRewards[index] ?? null;
    if (turnReward !== null) spans.push(aRewardSpan(turnReward, { ...ids, sequenceId: spans.length + 1 }));
  }
  if (reward !== null) spans.push(aRewardSpan(reward, { ...ids, sequenceId: spans.length + 1 }));
  return { rollout: aRollout({ rolloutId, status }), attemptId: 'at-1', spans };
}

/** A group of rollouts with one call each, one per reward; null for a rollout without a reward. */
export function aCollectedGroup(rewards: readonly (number | null)[], groupId: string = 'gr-1'): CollectedGroup {
  return {
    groupId,
    rollouts: rewards.map((reward, index) =>
      aCollectedRollout({
        rolloutId: `ro-${groupId}-${index + 1}`,
        reward,
        calls: [{ responseTokenIds: [10 + index, 20 + index] }],
      }),
    ),
  };
}
