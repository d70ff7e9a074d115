import type { JsonValue, ModelCall } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { type PairOptions, preferencePairs } from '../preference/preference-pairs.ts';
import { type ChatMessage, formatMessage, isSameMessage, requestMessages, responseMessage } from './chat-message.ts';
import { type DatasetOptions, rolloutCalls } from './rollout-calls.ts';

/** A line of a file for direct preference optimisation, in OpenAI's format. */
export interface PreferenceExample {
  /** The conversation before the responses. */
  readonly input: { readonly messages: readonly ChatMessage[]; readonly tools?: JsonValue };
  /** The response with the higher reward. */
  readonly preferred_output: readonly ChatMessage[];
  /** The response with the lower reward. */
  readonly non_preferred_output: readonly ChatMessage[];
}

/** Preference examples, and the number of pairs without one. */
export interface PreferenceExamples {
  /** The pairs. */
  readonly examples: readonly PreferenceExample[];
  /** Number of pairs whose rollouts do not have a request in common. */
  readonly withoutCommonPrompt: number;
}

/** Selection of rollouts for pairs. */
export interface PreferenceExampleOptions extends DatasetOptions, PairOptions {}

/**
 * Pairs of the best and the worst rollout of each task, in the format of preference tuning files. The format compares two
 * responses to the same messages, so an example contains the first responses of the two rollouts that differ.
 *
 * @example
 * ```ts
 * const { examples } = preferenceExamples(groups, { minGap: 0.5 });
 * ```
 */
export function preferenceExamples(
  groups: readonly CollectedGroup[],
  options: PreferenceExampleOptions = {},
): PreferenceExamples {
  const pairs = preferencePairs(rolloutCalls(groups, options), options);
  const examples = pairs.flatMap(({ chosen, rejected }) => firstDifference(chosen.calls, rejected.calls) ?? []);
  return { examples, withoutCommonPrompt: pairs.length - examples.length };
}

function firstDifference(chosen: readonly ModelCall[], rejected: readonly ModelCall[]): PreferenceExample | null {
  for (const [index, call] of chosen.entries()) {
    const other = rejected[index];
    if (other === undefined) return null;
    const [asked, alsoAsked] = [requestMessages(call), requestMessages(other)];
    const [better, worse] = [responseMessage(call), responseMessage(other)];
    if (asked === null || alsoAsked === null || better === null || worse === null) return null;
    if (!isSameConversation(asked, alsoAsked)) return null;
    if (isSameMessage(better, worse)) continue;
    const tools = call.request?.['tools'];
    return {
      input: { messages: asked.map(formatMessage), ...(tools === undefined ? {} : { tools }) },
      preferred_output: [formatMessage(better)],
      non_preferred_output: [formatMessage(worse)],
    };
  }
  return null;
}

function isSameConversation(one: readonly ChatMessage[], other: readonly ChatMessage[]): boolean {
  return one.length === other.length && one.every((message, place) => isSameMessage(message, other[place] ?? {}));
}
