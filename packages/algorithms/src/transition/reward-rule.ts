import type { ModelCall, Span } from '@agentlightning/core';

/** A tool call, as recorded by a framework adapter. */
export interface ToolCall {
  /** Span of the tool call. */
  readonly spanId: string;
  /** Position of the span in its attempt. */
  readonly sequenceId: number;
  /** The name of the tool. */
  readonly name: string;
  /** The arguments as the model wrote them; null when they were not recorded. */
  readonly arguments: string | null;
  /** The result of the tool; null when it was not recorded. */
  readonly result: string | null;
  /** Whether the call threw or returned an error. */
  readonly isError: boolean;
  /** Latency in milliseconds; null when start or end is unknown. */
  readonly latencyMs: number | null;
}

/** The trace of one attempt, the input of a rule. */
export interface JudgedTrace {
  /** By sequence id. */
  readonly spans: readonly Span[];
  /** Model calls with tokens, by sequence id. */
  readonly modelCalls: readonly ModelCall[];
  /** By sequence id. */
  readonly toolCalls: readonly ToolCall[];
}

/** The reward that a rule gives to a step. */
export interface RuleVerdict {
  /** Span of the judged tool call. */
  readonly spanId: string;
  /** The reward of the call. */
  readonly value: number;
}

/** Rewards for intermediate steps. A rule is a pure function of the spans of an attempt. */
export interface RewardRule {
  /** Shown in the trace. */
  readonly name: string;
  /** The verdicts on the tool calls of a trace. */
  judge(trace: JudgedTrace): readonly RuleVerdict[];
}
