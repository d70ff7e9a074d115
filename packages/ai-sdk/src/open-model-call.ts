import type { Attributes, AttributeValue, RolloutContext } from '@agentlightning/core';
import {
  type AgentStepEnd,
  type AgentSteps,
  modelAnswerAttributes,
  type StreamTap,
  withoutAttributes,
} from '@agentlightning/core/adapter';
import { genAiAttributes, modelCallAttributes } from '@agentlightning/core/spans';
import type { GatheredAnswer } from './gathered-answer.ts';
import type { SdkAnswer } from './sdk-events.ts';
import { answerOf } from './sdk-messages.ts';

/** What a model call is made in: it is told what comes of the call. */
export interface ModelCallOwner {
  /** Where the call is recorded. */
  readonly steps: AgentSteps;
  /** Ends the operation itself, with everything in it. */
  end(end?: AgentStepEnd): void;
  /** The call has its answer. */
  answerModelCall(answer: SdkAnswer): void;
  /** Sends a request of the call, in its place in the trace. One that fails the framework may send again. */
  request<TResult>(call: OpenModelCall, send: () => PromiseLike<TResult>): Promise<TResult>;
  /** Looks at the call's answer as it passes by. */
  streamTap(call: OpenModelCall): StreamTap<unknown>;
}

/** The contexts that requests of recorded model calls are made in. */
export const insideModelCalls: WeakSet<RolloutContext> = new WeakSet();

/** A model call that is under way. */
export interface OpenModelCall {
  readonly id: string;
  /** The operation that it is made in. */
  readonly operation: ModelCallOwner;
  /** How often the framework may send it again; null when the framework tells of failures itself. */
  readonly maxRetries: number | null;
  readonly answer: GatheredAnswer;
  /** What tells it from others that are made at the same time. */
  readonly inputMessages: AttributeValue | undefined;
  readonly areInputsRecorded: boolean;
  readonly areOutputsRecorded: boolean;
  /** How many of its requests have been found. */
  requests: number;
  /** How many of its requests have failed. */
  failures: number;
}

/** What an answer says, as attributes, as far as the user has it recorded. */
export function answerAttributes(call: OpenModelCall, answer: SdkAnswer): Attributes {
  const attributes = modelAnswerAttributes(answerOf(answer));
  return call.areOutputsRecorded ? attributes : withoutAttributes(attributes, [genAiAttributes.outputMessages]);
}

/** What has come of an answer that nobody told the end of. */
export function brokenOffAttributes(call: OpenModelCall): Attributes {
  if (call.answer.isEmpty) return {};
  return {
    ...answerAttributes(call, call.answer.toAnswer()),
    ...(call.answer.isWhole ? {} : { [modelCallAttributes.isPartial]: true }),
  };
}

/** What a request says, as attributes, as far as the user has it recorded. */
export function requestAttributes(call: OpenModelCall, attributes: Attributes): Attributes {
  const hidden = [genAiAttributes.inputMessages, genAiAttributes.toolDefinitions];
  return call.areInputsRecorded ? attributes : withoutAttributes(attributes, hidden);
}

/** Whether a request of a model call is to come: the first, or one in the place of one that failed. */
export function isWaiting({ requests, failures }: OpenModelCall): boolean {
  return requests === failures;
}
