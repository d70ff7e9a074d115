import type { JsonValue, ModelCall } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { type PairOptions, preferencePairs } from '../preference/preference-pairs.ts';
import { type ChatMessage, isSameMessage, requestMessages, responseMessage } from './chat-message.ts';
import { type DatasetOptions, judgedCalls } from './judged-calls.ts';

/** A line of a file for direct preference optimisation, in OpenAI's format. */
export interface PreferenceExample {
  readonly input: { readonly messages: readonly ChatMessage[]; readonly tools?: JsonValue };
  readonly preferred_output: readonly ChatMessage[];
  readonly non_preferred_output: readonly ChatMessage[];
}

/** Preference examples, and what could not become one. */
export interface PreferenceExamples {
  readonly examples: readonly PreferenceExample[];
  /** Pairs whose rollouts have no request in common: there are no responses to compare. */
  readonly withoutCommonPrompt: number;
}

/** Which rollouts become pairs. */
export interface PreferenceExampleOptions extends DatasetOptions, PairOptions {}

/**
 * The best and the worst rollout of each task as pairs, as a file for preference tuning has them. The format compares two
 * answers to the same messages, so a pair is where the two rollouts first said something different.
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
  const pairs = preferencePairs(judgedCalls(groups, options), options);
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
      input: { messages: asked, ...(tools === undefined ? {} : { tools }) },
      preferred_output: [better],
      non_preferred_output: [worse],
    };
  }
  return null;
}

function isSameConversation(one: readonly ChatMessage[], other: readonly ChatMessage[]): boolean {
  return one.length === other.length && one.every((message, place) => isSameMessage(message, other[place] ?? {}));
}
