import { type Attributes, genAiAttributes, modelCallAttributes } from '@agentlightning/core';
import { modelAnswerAttributes } from '@agentlightning/core/adapter';
import type { GatheredAnswer } from './gathered-answer.ts';
import type { SdkAnswer } from './sdk-events.ts';
import { answerOf } from './sdk-messages.ts';

/** A model call that is under way. */
export interface OpenModelCall {
  readonly id: string;
  /** The operation that it is made in. */
  readonly operationId: string;
  /** How often the framework may send it again; null when the framework tells of failures itself. */
  readonly maxRetries: number | null;
  readonly answer: GatheredAnswer;
  readonly inputMessages: string | null;
  readonly areInputsRecorded: boolean;
  readonly areOutputsRecorded: boolean;
  /** Whether its request has been found. */
  isClaimed: boolean;
  /** How many of its requests have failed. */
  failures: number;
}

/** What an answer says, as attributes, as far as the user has it recorded. */
export function answerAttributes(call: OpenModelCall, answer: SdkAnswer): Attributes {
  const attributes = modelAnswerAttributes(answerOf(answer));
  if (call.areOutputsRecorded) return attributes;
  const { [genAiAttributes.outputMessages]: _, ...others } = attributes;
  return others;
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
  if (call.areInputsRecorded) return attributes;
  const {
    [genAiAttributes.inputMessages]: _messages,
    [genAiAttributes.toolDefinitions]: _tools,
    ...others
  } = attributes;
  return others;
}

/** The messages of a request, which tell it from others; null when it has none. */
export function inputMessagesOf(attributes: Attributes): string | null {
  const messages = attributes[genAiAttributes.inputMessages];
  return typeof messages === 'string' ? messages : null;
}
