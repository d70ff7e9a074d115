import type { ModelCall, Span } from '@agentlightning/core';

/** A tool call, as a framework's adapter recorded it. */
export interface ToolCall {
  readonly spanId: string;
  readonly sequenceId: number;
  /** The name of the tool. */
  readonly name: string;
  /** The arguments as the model wrote them; null when they were not recorded. */
  readonly arguments: string | null;
  /** What the tool gave back; null when it was not recorded. */
  readonly result: string | null;
  /** Whether it threw, or said that it failed. */
  readonly isError: boolean;
  /** From start to end, in milliseconds; null when one of them is not known. */
  readonly latencyMs: number | null;
}

/** What a rule looks at: one attempt, from its first step to its last. */
export interface JudgedTrace {
  /** By sequence id. */
  readonly spans: readonly Span[];
  /** Model calls with tokens, by sequence id. */
  readonly modelCalls: readonly ModelCall[];
  /** By sequence id. */
  readonly toolCalls: readonly ToolCall[];
}

/** What a rule found: a step, and what it is worth. */
export interface RuleVerdict {
  readonly spanId: string;
  readonly value: number;
}

/**
 * Rewards for steps on the way to an outcome. A rule is a pure function of an attempt's spans: the same spans get the
 * same rewards, whenever it is applied.
 */
export interface RewardRule {
  /** Shown in the trace. */
  readonly name: string;
  judge(trace: JudgedTrace): readonly RuleVerdict[];
}
