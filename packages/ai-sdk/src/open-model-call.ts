import type { Attributes, AttributeValue, RolloutContext } from '@agentlightning/core';
import {
  type AgentStepEnd,
  type AgentSteps,
  modelResponseAttributes,
  type StreamTap,
} from '@agentlightning/core/adapter';
import {
  genAiAttributes,
  modelCallAttributes,
  type PartsResponse,
  partsResponseBody,
  type StreamedParts,
  withoutAttributes,
} from '@agentlightning/core/internal';

/** The operation of a model call, which receives its result. */
export interface ModelCallOwner {
  /** The steps in which the call is recorded. */
  readonly steps: AgentSteps;
  /** Ends the operation and its open steps. */
  end(end?: AgentStepEnd): void;
  /** Records the response of the call. */
  completeModelCall(response: PartsResponse): void;
  /** Sends a request in the context of the call. The framework may retry a failed request. */
  request<TResult>(call: OpenModelCall, send: () => PromiseLike<TResult>): Promise<TResult>;
  /** Returns an observer for the response stream of the call. */
  streamTap(call: OpenModelCall): StreamTap<unknown>;
}

/** The contexts in which requests of recorded model calls are sent. */
export const insideModelCalls: WeakSet<RolloutContext> = new WeakSet();

/** A model call in progress. */
export interface OpenModelCall {
  readonly id: string;
  /** The operation that makes the call. */
  readonly operation: ModelCallOwner;
  /** The maximum number of retries; null if the framework reports failures. */
  readonly maxRetries: number | null;
  readonly response: StreamedParts;
  /** Distinguishes the call from concurrent calls. */
  readonly inputMessages: AttributeValue | undefined;
  readonly areInputsRecorded: boolean;
  readonly areOutputsRecorded: boolean;
  /** The number of requests that were matched to the call. */
  requests: number;
  /** The number of failed requests. */
  failures: number;
}

/** The attributes of a response, limited to what the user records. */
export function responseAttributes(call: OpenModelCall, response: PartsResponse): Attributes {
  const attributes = modelResponseAttributes(partsResponseBody(response));
  return call.areOutputsRecorded ? attributes : withoutAttributes(attributes, [genAiAttributes.outputMessages]);
}

/** The attributes of the received part of a response whose end was not reported. */
export function partialAttributes(call: OpenModelCall): Attributes {
  if (call.response.isEmpty) return {};
  return {
    ...responseAttributes(call, call.response.toResponse()),
    ...(call.response.isWhole ? {} : { [modelCallAttributes.isPartial]: true }),
  };
}

/** The attributes of a request, limited to what the user records. */
export function requestAttributes(call: OpenModelCall, attributes: Attributes): Attributes {
  const hidden = [genAiAttributes.inputMessages, genAiAttributes.toolDefinitions];
  return call.areInputsRecorded ? attributes : withoutAttributes(attributes, hidden);
}

/** Whether a request of the call is pending: the first one, or a retry. */
export function isWaiting({ requests, failures }: OpenModelCall): boolean {
  return requests === failures;
}
