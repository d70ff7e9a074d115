import type { Attributes, Reward } from '@agentlightning/core';
import type { AgentStepKind } from '@agentlightning/core/adapter';

/** What a step of a trace is, for people to tell apart. */
export type TraceStepKind = 'rollout' | AgentStepKind | 'reward' | 'message' | 'annotation' | 'exception' | 'operation';

/** How a step ended: `partial` was stopped from outside, `abandoned` was still open when its attempt ended. */
export type TraceStepOutcome = 'ok' | 'error' | 'partial' | 'abandoned';

/** Something that was said to a model, or by it. */
export interface TraceMessage {
  readonly role: string;
  /** Its parts, each as people read it: text, `→ tool(arguments)`, `← result`, `[image]`. */
  readonly parts: readonly TraceMessagePart[];
}

/** A part of a message. */
export interface TraceMessagePart {
  readonly type: 'text' | 'reasoning' | 'tool-call' | 'tool-result' | 'attachment';
  readonly text: string;
  /** The call that a part of type `tool-call` requests. */
  readonly toolCall?: { readonly id: string | null; readonly name: string };
}

/** The tokens of a model call. */
export interface TraceTokens {
  readonly prompt: number | null;
  /** Of all choices together. */
  readonly response: number | null;
  readonly policyVersion: number | null;
  /** Null when nobody captured the tokens, so that there is nothing to train on. */
  readonly isTrainable: boolean | null;
  readonly untrainableReason: string | null;
}

/** One step of a trace as people look at it, with the steps that are part of it in order. */
export interface TraceStep {
  readonly spanId: string;
  /** The order among the rollout's spans. */
  readonly sequenceId: number;
  readonly kind: TraceStepKind;
  /** The agent's, tool's or model's name, or the span's own. */
  readonly title: string;
  /** The agents at work, the outermost first. */
  readonly agentPath: readonly string[];
  /** Unix milliseconds. */
  readonly startTimeMs: number | null;
  /** Unix milliseconds. */
  readonly endTimeMs: number | null;
  readonly outcome: TraceStepOutcome;
  /** The message of the error; null when the step did not fail. */
  readonly error: string | null;
  /** The stack trace of the exception that the span recorded; null when it recorded none. */
  readonly stackTrace: string | null;
  /** What the model was asked; empty when the step is no model call. */
  readonly inputMessages: readonly TraceMessage[];
  readonly outputMessages: readonly TraceMessage[];
  /** What a tool was called with, as JSON or text; null when the step is no tool call. */
  readonly toolArguments: string | null;
  readonly toolResult: string | null;
  /** The id of the tool call in the model's response; null when it was not recorded. */
  readonly toolCallId: string | null;
  readonly tokens: TraceTokens | null;
  /** What the step says about how good the attempt was. */
  readonly rewards: readonly Reward[];
  /** Everything that was recorded, for those who look closer. */
  readonly attributes: Attributes;
  readonly children: readonly TraceStep[];
}
