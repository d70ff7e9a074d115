import { AgentLightningError, type AttributeValue, type ModelCall, type Span } from '@agentlightning/core';
import { genAiAttributes } from '@agentlightning/core/internal';
import { agentLightningAttributes } from '@agentlightning/core/spans';
import type { RewardRule, ToolCall } from '../transition/reward-rule.ts';
import type { Turns } from '../transition/turns.ts';

/** A reward from a rule. */
export interface IntermediateReward {
  readonly rule: string;
  /** The rewarded span. */
  readonly spanId: string;
  /** The model call of its turn; null before the first model call. */
  readonly sequenceId: number | null;
  readonly value: number;
}

/**
 * Applies rules to the spans of an attempt: automatic intermediate rewarding (LightningRL, arXiv 2508.03680).
 *
 * @throws AgentLightningError with code `INVALID_REWARD` when a rule returns a value that is not finite, or a span of
 *   another attempt
 */
export function intermediateRewards(
  spans: readonly Span[],
  { calls, turns }: { readonly calls: readonly ModelCall[]; readonly turns: Turns },
  rules: readonly RewardRule[],
): readonly IntermediateReward[] {
  if (rules.length === 0) return [];
  const ordered = spans.toSorted((one, other) => one.sequenceId - other.sequenceId);
  const bySpanId = new Map(ordered.map((span) => [span.spanId, span]));
  const trace = { spans: ordered, modelCalls: calls, toolCalls: ordered.flatMap(toolCallOf) };
  return rules.flatMap((rule) =>
    rule.judge(trace).map(({ spanId, value }) => {
      const span = bySpanId.get(spanId);
      if (span === undefined || !Number.isFinite(value)) throw wrongVerdict(rule, spanId, value);
      return { rule: rule.name, spanId, sequenceId: turns.ofSpan(span), value };
    }),
  );
}

/** The tool call that a span records; empty for another span. */
export function toolCallOf(span: Span): readonly ToolCall[] {
  const { attributes, startTimeMs, endTimeMs, status } = span;
  const isTool =
    attributes[agentLightningAttributes.stepKind] === 'tool-call' ||
    attributes[genAiAttributes.operationName] === 'execute_tool';
  if (!isTool) return [];
  return [
    {
      spanId: span.spanId,
      sequenceId: span.sequenceId,
      name: text(attributes[genAiAttributes.toolName]) ?? span.name,
      arguments: text(attributes[genAiAttributes.toolCallArguments]),
      result: text(attributes[genAiAttributes.toolCallResult]),
      isError: status.code === 'ERROR',
      latencyMs: startTimeMs === null || endTimeMs === null ? null : endTimeMs - startTimeMs,
    },
  ];
}

function text(value: AttributeValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function wrongVerdict(rule: RewardRule, spanId: string, value: number): AgentLightningError {
  return new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `The reward rule "${rule.name}" gave ${value} to the span ${spanId}`,
    remedy: 'A rule gives finite numbers to spans of the attempt that it judges.',
    details: { rule: rule.name, spanId, value },
  });
}
