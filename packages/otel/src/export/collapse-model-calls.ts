import type { Span } from '@agentlightning/core';
import { joinModelCalls } from '@agentlightning/core/spans';

/**
 * One span for each model call: where an attempt has the step of a framework and the record of the gateway, the step with
 * the attributes of both. Other tools would count tokens and costs of the call twice.
 */
export function collapseModelCalls(spans: readonly Span[]): readonly Span[] {
  const captures = new Map<string, Span>();
  const absorbed = new Set<string>();
  for (const { captured, step } of joinModelCalls(spans)) {
    if (captured === null || step === null) continue;
    captures.set(step.spanId, captured);
    absorbed.add(captured.spanId);
  }
  return spans
    .filter(({ spanId }) => !absorbed.has(spanId))
    .map((span) => {
      const captured = captures.get(span.spanId);
      return captured === undefined ? span : { ...span, attributes: { ...captured.attributes, ...span.attributes } };
    });
}
