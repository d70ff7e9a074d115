import type { Attributes, Span } from '@agentlightning/core';
import { genAiAttributes, joinModelCalls } from '@agentlightning/core/spans';

/**
 * One span for each model call: where an attempt has the step of a framework and the record of the gateway, the step with
 * the attributes of both. Other tools would count tokens and costs of the call twice. The model is the one that responded, by
 * which they determine prices; the one that the agent requested is `agentlightning.requested_model`.
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
      if (captured === undefined) return withModel(span, span.attributes);
      return withModel({ ...span, attributes: { ...captured.attributes, ...span.attributes } }, captured.attributes);
    });
}

/** A span with the model of the record, which names the one that responded. */
function withModel(span: Span, record: Attributes): Span {
  const requested = span.attributes[genAiAttributes.requestModel];
  const model = record[genAiAttributes.responseModel] ?? record[genAiAttributes.requestModel];
  if (model === undefined || (model === requested && model === span.attributes[genAiAttributes.responseModel]))
    return span;
  return {
    ...span,
    attributes: {
      ...span.attributes,
      [genAiAttributes.requestModel]: model,
      [genAiAttributes.responseModel]: model,
      ...(requested === undefined || requested === model ? {} : { 'agentlightning.requested_model': requested }),
    },
  };
}
