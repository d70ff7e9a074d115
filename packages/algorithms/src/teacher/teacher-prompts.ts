import type { JsonObject, JsonValue, ModelCall } from '@agentlightning/core';
import type {
  CollectedGroup,
  CollectedRollout,
  PromptRequest,
  Trajectory,
  TrajectoryRow,
} from '@agentlightning/core/algorithm';
import { requestMessages } from '../dataset/chat-message.ts';
import { capturedCalls } from '../transition/captured-calls.ts';
import { type Feedback, type FeedbackSource, feedbackOn } from './feedback.ts';

/** How feedback enters the prompts of the teacher. */
export interface FeedbackSettings {
  readonly sources: readonly FeedbackSource[];
  /** The text that is appended to the last message of the user, with `{feedback}`. */
  readonly template: string;
  /** The lowest reward of a rollout whose responses are a solution. */
  readonly successReward: number;
}

/** A row with feedback on its rollout. */
export interface PromptedRow {
  readonly row: TrajectoryRow;
  readonly feedback: Feedback;
  /** The conversation before the first response of the row, with the feedback; null where it was not recorded. */
  readonly request: PromptRequest | null;
}

/** The rows of the rollouts that have feedback, in order. */
export function promptedRows(
  groups: readonly CollectedGroup[],
  trajectories: readonly Trajectory[],
  settings: FeedbackSettings,
): readonly PromptedRow[] {
  const rewards = new Map(trajectories.map(({ rolloutId, reward }) => [rolloutId, reward]));
  const byRollout = new Map(
    groups.flatMap(({ rollouts }) =>
      rollouts.map((collected) => [
        collected.rollout.rolloutId,
        { collected, solution: solutionFor(collected, rollouts, { rewards, settings }) },
      ]),
    ),
  );
  return trajectories.flatMap(({ rolloutId, rows }) => {
    const input = byRollout.get(rolloutId);
    const feedback = input === undefined ? null : feedbackOn(input, settings.sources);
    if (input === undefined || feedback === null || rows.length === 0) return [];
    const { attemptId, spans } = input.collected;
    const { calls } = capturedCalls(spans.filter((span) => span.attemptId === attemptId));
    const text = settings.template.replaceAll('{feedback}', () => feedback.text);
    return rows.map((row) => {
      const call = calls.find(({ sequenceId }) => sequenceId === row.trained[0]?.sequenceId);
      return { row, feedback, request: call === undefined ? null : promptWith(text, call) };
    });
  });
}

/** Another rollout of the task that solved it: the one with the highest reward, the first of equal ones. */
function solutionFor(
  own: CollectedRollout,
  rollouts: readonly CollectedRollout[],
  { rewards, settings }: { readonly rewards: ReadonlyMap<string, number | null>; readonly settings: FeedbackSettings },
): CollectedRollout | null {
  const rewardOf = ({ rollout }: CollectedRollout): number => rewards.get(rollout.rolloutId) ?? -Infinity;
  const [best] = rollouts
    .filter((other) => other !== own && rewardOf(other) >= settings.successReward)
    .toSorted((one, other) => rewardOf(other) - rewardOf(one));
  return best ?? null;
}

/** The prompt of a call with a text appended to its last message of the user, or as one where it has none. */
function promptWith(text: string, call: ModelCall): PromptRequest | null {
  const messages = requestMessages(call);
  if (messages === null) return null;
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const appended =
    last < 0
      ? [...messages, { role: 'user', content: text.trim() }]
      : messages.map((message, index) => (index === last ? withText(message, text) : message));
  return { messages: appended, fields: templateFields(call.request ?? {}) };
}

function withText(message: JsonObject, text: string): JsonObject {
  const { content } = message;
  const parts: JsonValue = Array.isArray(content) ? [...content, { type: 'text', text }] : `${content ?? ''}${text}`;
  return { ...message, content: parts };
}

function templateFields({ tools, tool_choice: choice, chat_template_kwargs: settings }: JsonObject): JsonObject {
  return {
    ...(Array.isArray(tools) && choice !== 'none' ? { tools } : {}),
    ...(settings === undefined || settings === null ? {} : { chat_template_kwargs: settings }),
  };
}
