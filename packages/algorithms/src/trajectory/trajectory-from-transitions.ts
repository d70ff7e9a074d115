import { ValidationError } from '@agentlightning/core';
import type { Trajectory, Transition } from '@agentlightning/core/algorithm';
import { countReasons, type ReasonCounts } from '../base/reason-counts.ts';
import { type OpenRow, RowIndex } from './row-index.ts';

/**
 * Reason for a new row:
 *
 * - `prompt_rewritten`: no row is a prefix of the prompt, as when the agent shortens its history or the chat template drops
 *   reasoning of earlier turns,
 * - `temperature_changed`: the row was sampled at another temperature,
 * - `same_prompt`: another call had the same prompt, as with `n > 1` or a repeated call,
 * - `new_agent`: the first call of another agent, which has its own history.
 */
export type RowSplitReason = 'prompt_rewritten' | 'temperature_changed' | 'same_prompt' | 'new_agent';

/**
 * Content of a row: the longest exact continuation, or one transition. With `trajectory`, every token is computed once; with
 * `transition`, rows are shorter but prompts are recomputed. Both train on the same data.
 */
export type RowLevel = 'trajectory' | 'transition';

/** Input of {@link trajectoryFromTransitions}. */
export interface TrajectoryInput {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** Rollouts with the same group id are compared with each other. */
  readonly groupId: string;
  /** The reward of the whole rollout; null without one. */
  readonly reward: number | null;
  /** Sequence id of the model call whose turn has this reward too. @default see `Trajectory` */
  readonly rewardedCall?: number | null;
  /** Sum of the rewards of each agent, by name. @default none */
  readonly agentRewards?: Readonly<Record<string, number>>;
  /** Transitions of this attempt, in any order. */
  readonly transitions: readonly Transition[];
  /** @default 'trajectory' */
  readonly level?: RowLevel;
}

/** A trajectory and the reasons for its rows. */
export interface BuiltTrajectory {
  /** The trajectory. */
  readonly trajectory: Trajectory;
  /** Number of rows after the first, by reason. */
  readonly splits: ReasonCounts;
}

/**
 * Merges transitions into rows: a call continues a row if the row's tokens are an exact prefix of its prompt. Added prompt
 * tokens come from the environment and are not trained on. Every sampled token is in exactly one row, in the context it was
 * sampled in. A call continues the longest matching row, so that interleaved calls of concurrent agents do not split each
 * other's rows.
 *
 * @throws ValidationError when a transition belongs to another attempt
 *
 * @example
 * ```ts
 * const { transitions, finalReward: reward, rewardedCall } = transitionsFromSpans(spans);
 * const { trajectory } = trajectoryFromTransitions({ rolloutId, attemptId, groupId, reward, rewardedCall, transitions });
 * ```
 */
export function trajectoryFromTransitions(input: TrajectoryInput): BuiltTrajectory {
  const { transitions, level = 'trajectory', ...rest } = input;
  assertSameAttempt(input);
  const inOrder = transitions.toSorted((one, other) => one.sequenceId - other.sequenceId);
  if (level === 'transition') return { trajectory: { ...rest, rows: inOrder.map(newRow) }, splits: {} };
  const index = new RowIndex();
  const rows: OpenRow[] = [];
  const splits: RowSplitReason[] = [];
  const agents = new Set<string | null>();
  for (const transition of inOrder) {
    const { row, reason } = rowToContinue(transition, index, agents);
    if (row === null) {
      if (rows.length > 0) splits.push(reason);
      const started = newRow(transition);
      rows.push(started);
      index.add(started);
    } else {
      index.remove(row);
      extendRow(row, transition);
      index.add(row);
    }
    agents.add(transition.agentName);
  }
  return { trajectory: { ...rest, rows }, splits: countReasons(splits) };
}

function rowToContinue(
  transition: Transition,
  index: RowIndex,
  agents: ReadonlySet<string | null>,
): { readonly row: OpenRow | null; readonly reason: RowSplitReason } {
  const prompt = transition.promptTokenIds;
  const { candidates, isKnownPrompt } = index.find(prompt);
  let reason: RowSplitReason = 'prompt_rewritten';
  if (!agents.has(transition.agentName)) reason = 'new_agent';
  if (isKnownPrompt) reason = 'same_prompt';
  for (const row of candidates) {
    if (!startsWith(prompt, row.tokenIds) || !startsWithImages(transition, row)) continue;
    if (row.temperature === transition.temperature) return { row, reason };
    reason = 'temperature_changed';
  }
  return { row: null, reason };
}

function startsWith(prompt: readonly number[], tokenIds: readonly number[]): boolean {
  for (let position = 0; position < tokenIds.length; position += 1) {
    if (tokenIds[position] !== prompt[position]) return false;
  }
  return true;
}

/** Different images have the same tokens. */
function startsWithImages({ images = [] }: Transition, row: OpenRow): boolean {
  return (row.images ?? []).every(({ url }, index) => url === images[index]);
}

/** Creates a row from a transition. */
function newRow(transition: Transition): OpenRow {
  const { promptTokenIds, responseTokenIds, responseLogprobs, temperature, images } = transition;
  const row: OpenRow = {
    tokenIds: promptTokenIds.concat(responseTokenIds),
    trained: [],
    samplingLogprobs: responseLogprobs.slice(),
    temperature,
    ...(images && { images: images.map((url) => ({ url, turn: 0 })) }),
  };
  noteTurn(row, transition);
  return row;
}

function extendRow(row: OpenRow, transition: Transition): void {
  const { promptTokenIds, responseTokenIds, responseLogprobs } = transition;
  for (let position = row.tokenIds.length; position < promptTokenIds.length; position += 1) {
    row.tokenIds.push(promptTokenIds[position] ?? 0);
  }
  const added = transition.images?.slice(row.images?.length ?? 0) ?? [];
  if (added.length > 0) row.images = (row.images ?? []).concat(added.map((url) => ({ url, turn: row.trained.length })));
  for (const tokenId of responseTokenIds) row.tokenIds.push(tokenId);
  for (const logprob of responseLogprobs) row.samplingLogprobs.push(logprob);
  noteTurn(row, transition);
}

/** Records the row's last tokens as the transition's completion. */
function noteTurn(row: OpenRow, transition: Transition): void {
  const { responseTokenIds, sequenceId, agentName, reward, policyVersion, responsePolicyVersions } = transition;
  const end = row.tokenIds.length;
  row.trained.push({
    start: end - responseTokenIds.length,
    end,
    sequenceId,
    agentName,
    reward,
    policyVersion,
    ...(responsePolicyVersions && { policyVersions: responsePolicyVersions }),
  });
}

function assertSameAttempt({ rolloutId, attemptId, transitions }: TrajectoryInput): void {
  const position = transitions.findIndex(
    (transition) => transition.rolloutId !== rolloutId || transition.attemptId !== attemptId,
  );
  const stranger = transitions[position];
  if (stranger === undefined) return;
  throw new ValidationError(`The trajectory of ${rolloutId}/${attemptId}`, [
    {
      path: `transitions[${position}]`,
      message: `it belongs to ${stranger.rolloutId}/${stranger.attemptId}; give transitions of one attempt`,
    },
  ]);
}
