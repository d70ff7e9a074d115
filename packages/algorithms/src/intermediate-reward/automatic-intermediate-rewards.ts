import type { JsonValue, ModelCall } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { JudgedTrace, RewardRule, RuleVerdict, ToolCall } from '../transition/reward-rule.ts';

/** Tool calls to which a rule applies. */
export interface ToolChoice {
  /** Only calls of this tool. @default every tool */
  readonly tool?: string;
}

/**
 * Automatic intermediate rewarding (AIR): rules that reward intermediate steps, for tasks with sparse outcome rewards. A rule
 * rewards the turn of a step, so use it with per-turn credit.
 *
 * LightningRL, arXiv 2508.03680. The rewards of a rule appear in the trace like any other reward, and are added to the
 * rewards that the agent emitted for the turn.
 *
 * @example
 * ```ts
 * const algorithm = grpo({
 *   creditAssignment: { type: 'per-turn', discount: 1 },
 *   intermediateRewards: [
 *     air.onToolSuccess(0.1),
 *     air.onToolFailure(-0.1, { tool: 'search' }),
 *     air.onRepeatedCall(-0.2),
 *     air.when('asks for the stock', (call) => call.response !== null, 0.05),
 *   ],
 * });
 * ```
 */
export const air: {
  /** A tool call that ended without an error. */
  onToolSuccess(value: number, choice?: ToolChoice): RewardRule;
  /** A tool call that threw or returned an error. */
  onToolFailure(value: number, choice?: ToolChoice): RewardRule;
  /** A tool call with the name and the arguments of an earlier one. */
  onRepeatedCall(value: number, choice?: ToolChoice): RewardRule;
  /**
   * A tool call with a latency above `aboveMs`, in milliseconds. The least reproducible rule, because latency differs
   * between machines and runs.
   */
  onSlowTool(value: number, limit: ToolChoice & { readonly aboveMs: number }): RewardRule;
  /**
   * A model response whose text matches the pattern, or does not; responses without text, such as tool calls alone, are
   * ignored.
   */
  onFormat(pattern: RegExp, values: { readonly match?: number; readonly mismatch?: number }): RewardRule;
  /** A model call for which the predicate is true. */
  when(name: string, predicate: (call: ModelCall, trace: JudgedTrace) => boolean, value: number): RewardRule;
} = {
  onToolSuccess: (value, choice = {}) =>
    toolRule(named('tool success', choice), choice, ({ isError }) => (isError ? null : value)),
  onToolFailure: (value, choice = {}) =>
    toolRule(named('tool failure', choice), choice, ({ isError }) => (isError ? value : null)),
  onRepeatedCall: (value, choice = {}) => ({
    name: named('repeated call', choice),
    judge: ({ toolCalls }) => {
      const seen = new Set<string>();
      return chosen(toolCalls, choice).flatMap((call): readonly RuleVerdict[] => {
        const key = JSON.stringify([call.name, call.arguments]);
        const isRepeated = seen.has(key);
        seen.add(key);
        return isRepeated ? [{ spanId: call.spanId, value }] : [];
      });
    },
  }),
  onSlowTool: (value, { aboveMs, ...choice }) =>
    toolRule(named(`tool above ${aboveMs} ms`, choice), choice, ({ latencyMs }) =>
      latencyMs !== null && latencyMs > aboveMs ? value : null,
    ),
  onFormat: (pattern, { match, mismatch }) => ({
    name: `format ${pattern.source}`,
    judge: ({ modelCalls }) =>
      modelCalls.flatMap((call): readonly RuleVerdict[] => {
        const text = responseText(call);
        if (text === null) return [];
        // A pattern with the flag g or y is stateful.
        const value = new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, '')).test(text) ? match : mismatch;
        return value === undefined ? [] : [{ spanId: call.spanId, value }];
      }),
  }),
  when: (name, predicate, value) => ({
    name,
    judge: (trace) =>
      trace.modelCalls.flatMap((call) => (predicate(call, trace) ? [{ spanId: call.spanId, value }] : [])),
  }),
};

function toolRule(name: string, choice: ToolChoice, worth: (call: ToolCall) => number | null): RewardRule {
  return {
    name,
    judge: ({ toolCalls }) =>
      chosen(toolCalls, choice).flatMap((call): readonly RuleVerdict[] => {
        const value = worth(call);
        return value === null ? [] : [{ spanId: call.spanId, value }];
      }),
  };
}

function chosen(toolCalls: readonly ToolCall[], { tool }: ToolChoice): readonly ToolCall[] {
  return tool === undefined ? toolCalls : toolCalls.filter(({ name }) => name === tool);
}

function named(what: string, { tool }: ToolChoice): string {
  return tool === undefined ? what : `${what} of ${tool}`;
}

/** The text of a model call's first response; null when it has none, or the body was not recorded. */
function responseText({ response }: ModelCall): string | null {
  const message = field(first(response?.['choices']), 'message');
  const content = field(message, 'content') ?? field(first(response?.['choices']), 'text');
  return typeof content === 'string' && content !== '' ? content : null;
}

function first(value: JsonValue | undefined): JsonValue | undefined {
  return Array.isArray(value) ? value[0] : undefined;
}

function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}
