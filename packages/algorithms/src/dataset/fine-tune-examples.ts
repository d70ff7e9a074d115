import type { JsonValue } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { type Selection, selectBest } from '../supervised/select-best.ts';
import { type ChatMessage, formatMessage } from './chat-message.ts';
import { type Conversation, conversations } from './conversations.ts';
import { type DatasetOptions, rolloutCalls } from './rollout-calls.ts';

/** A line of a file for supervised fine-tuning, in OpenAI's chat format. */
export interface FineTuneExample {
  readonly messages: readonly ChatMessage[];
  readonly tools?: JsonValue;
}

/** Selection of rollouts for examples. */
export interface FineTuneOptions extends DatasetOptions, Selection {}

/**
 * The conversations of good rollouts in the format of supervised fine-tuning files: rejection sampling for models that are
 * trained elsewhere. A conversation of several turns is one example. Assistant messages that the model did not generate,
 * such as few-shot examples, have `weight: 0` and are not trained on.
 *
 * @example
 * ```ts
 * const lines = fineTuneExamples(groups, { minReward: 0.9, keepBest: 1 }).map((example) => JSON.stringify(example));
 * ```
 */
export function fineTuneExamples(
  groups: readonly CollectedGroup[],
  options: FineTuneOptions = {},
): readonly FineTuneExample[] {
  return selectBest(rolloutCalls(groups, options), options).flatMap(({ calls }) => conversations(calls).map(example));
}

function example({ messages, sampled, tools }: Conversation): FineTuneExample {
  const said = new Set(sampled);
  const weighed = messages.map((message, place) =>
    formatMessage(message['role'] === 'assistant' && !said.has(place) ? { ...message, weight: 0 } : message),
  );
  return { messages: weighed, ...(tools === null ? {} : { tools }) };
}
