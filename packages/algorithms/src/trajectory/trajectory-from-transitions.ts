import { ValidationError } from '@agentlightning/core';
import type { Trajectory, Transition } from '@agentlightning/core/algorithm';
import { type Tally, tallyOf } from '../tally.ts';
import { type OpenRow, RowIndex } from './row-index.ts';

/**
 * Why a call started a new row instead of continuing one:
 *
 * - `prompt_rewritten`: its prompt starts with the tokens of no row, as when the agent shortens its history
 *   or the chat template drops reasoning of earlier turns,
 * - `temperature_changed`: it would continue a row that was sampled at another temperature,
 * - `same_prompt`: another call had the same prompt, as with `n > 1` and when a call is made again,
 * - `new_agent`: it is the first call of another agent, which has its own history.
 */
export type RowSplitReason = 'prompt_rewritten' | 'temperature_changed' | 'same_prompt' | 'new_agent';

/**
 * What a row is: the longest exact continuation, or one transition. Rows of a trajectory compute every token
 * once; transitions are the same training data at the cost of computing each prompt anew, for engines or agents whose
 * rows should be short.
 */
export type RowLevel = 'trajectory' | 'transition';

/** What a trajectory is made of. */
export interface TrajectoryInput {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** The rollouts that share this are compared with each other. */
  readonly groupId: string;
  /** The reward of the whole rollout; null when it has none. */
  readonly reward: number | null;
  /** The model call of whose turn that is the reward as well, by sequence id. @default see `Trajectory` */
  readonly rewardedCall?: number | null;
  /** The sum of the rewards that were meant for each agent, by its name. @default none */
  readonly agentRewards?: Readonly<Record<string, number>>;
  /** Of this attempt, in any order. */
  readonly transitions: readonly Transition[];
  /** @default 'trajectory' */
  readonly level?: RowLevel;
}

/** A trajectory, and how it came to have its rows. */
export interface BuiltTrajectory {
  readonly trajectory: Trajectory;
  /** How many rows beyond the first one were started, by reason. */
  readonly splits: Tally;
}

/**
 * Merges transitions into rows: a call continues a row if its prompt starts with the row's tokens, exactly.
 * What the prompt adds is what the environment said; it is not trained on. Then every sampled token is in
 * exactly one row, in the context it was sampled in. Of several rows that could be continued it is the longest,
 * so that the calls of agents that work at the same time do not break each other's rows.
 *
 * @throws ValidationError when a transition is of another attempt
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
  return { trajectory: { ...rest, rows }, splits: tallyOf(splits) };
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
    if (!startsWith(prompt, row.tokenIds)) continue;
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

/** A row that begins with a transition. Copied as wholes: most rows of agents with one turn never grow. */
function newRow(transition: Transition): OpenRow {
  const { promptTokenIds, responseTokenIds, responseLogprobs, temperature } = transition;
  const row: OpenRow = {
    tokenIds: promptTokenIds.concat(responseTokenIds),
    trained: [],
    samplingLogprobs: responseLogprobs.slice(),
    temperature,
  };
  noteTurn(row, transition);
  return row;
}

function extendRow(row: OpenRow, transition: Transition): void {
  const { promptTokenIds, responseTokenIds, responseLogprobs } = transition;
  for (let position = row.tokenIds.length; position < promptTokenIds.length; position += 1) {
    row.tokenIds.push(promptTokenIds[position] ?? 0);
  }
  for (const tokenId of responseTokenIds) row.tokenIds.push(tokenId);
  for (const logprob of responseLogprobs) row.samplingLogprobs.push(logprob);
  noteTurn(row, transition);
}

/** Notes that the row's last tokens are the transition's answer. */
function noteTurn(row: OpenRow, transition: Transition): void {
  const { responseTokenIds, sequenceId, agentName, reward, policyVersion } = transition;
  const end = row.tokenIds.length;
  row.trained.push({ start: end - responseTokenIds.length, end, sequenceId, agentName, reward, policyVersion });
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
      message: `it is of ${stranger.rolloutId}/${stranger.attemptId}; a trajectory is made of one attempt`,
    },
  ]);
}
