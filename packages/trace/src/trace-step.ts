import type { Attributes, Reward } from '@agentlightning/core';
import type { AgentStepKind } from '@agentlightning/core/adapter';

/** The kind of a step. */
export type TraceStepKind = 'rollout' | AgentStepKind | 'reward' | 'message' | 'annotation' | 'exception' | 'operation';

/** Outcome of a step: `partial` was stopped from outside, `abandoned` was still open when its attempt ended. */
export type TraceStepOutcome = 'ok' | 'error' | 'partial' | 'abandoned';

/** A message of a request or a response. */
export interface TraceMessage {
  /** Author of the message. */
  readonly role: string;
  /** Its parts as text: text, `tool(arguments)`, result, attachment. */
  readonly parts: readonly TraceMessagePart[];
}

/** A part of a message. */
export interface TraceMessagePart {
  /** Kind of the part. */
  readonly type: 'text' | 'reasoning' | 'tool-call' | 'tool-result' | 'attachment';
  /** Text of the part. */
  readonly text: string;
  /** The call that a part of type `tool-call` requests. */
  readonly toolCall?: { readonly id: string | null; readonly name: string };
}

/** The tokens of a model call. */
export interface TraceTokens {
  /** Number of tokens of the prompts; null when unknown. */
  readonly prompt: number | null;
  /** Of all choices together. */
  readonly response: number | null;
  /** Policy version of the oldest token; null when unknown. */
  readonly policyVersion: number | null;
  /** Policy version of the newest token; null when unknown. */
  readonly newestPolicyVersion: number | null;
  /** Null when the tokens were not captured. */
  readonly isTrainable: boolean | null;
  /** Why the call cannot be trained on; null when it can. */
  readonly untrainableReason: string | null;
}

/** One step of a trace, with its child steps in order. */
export interface TraceStep {
  /** Id of the span. */
  readonly spanId: string;
  /** The order among the rollout's spans. */
  readonly sequenceId: number;
  /** What the step is. */
  readonly kind: TraceStepKind;
  /** The agent's or tool's name, that of the model that responded, or the span's own. */
  readonly title: string;
  /** The model that the agent requested, where another one responded; null otherwise. */
  readonly requestedModel: string | null;
  /** The active agents, the outermost first. */
  readonly agentPath: readonly string[];
  /** Unix milliseconds. */
  readonly startTimeMs: number | null;
  /** Unix milliseconds. */
  readonly endTimeMs: number | null;
  /** How the step ended. */
  readonly outcome: TraceStepOutcome;
  /** The message of the error; null when the step did not fail. */
  readonly error: string | null;
  /** The stack trace of the exception that the span recorded; null when it recorded none. */
  readonly stackTrace: string | null;
  /** The messages of the request; empty unless the step is a model call. */
  readonly inputMessages: readonly TraceMessage[];
  /** The response. */
  readonly outputMessages: readonly TraceMessage[];
  /** The arguments of a tool call, as JSON or text; null for other steps. */
  readonly toolArguments: string | null;
  /** The result of a tool call; null for other steps. */
  readonly toolResult: string | null;
  /** The id of the tool call in the model's response; null when it was not recorded. */
  readonly toolCallId: string | null;
  /** Token counts of a model call; null for other steps. */
  readonly tokens: TraceTokens | null;
  /** The rewards that the step records. */
  readonly rewards: readonly Reward[];
  /** All recorded attributes. */
  readonly attributes: Attributes;
  /** The steps within it, in order. */
  readonly children: readonly TraceStep[];
}
