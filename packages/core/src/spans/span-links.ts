import type { Attributes, Span } from './span.ts';
import { agentLightningAttributes } from './span-attributes.ts';
import { unflattenAttributes } from './unflatten-attributes.ts';

/**
 * Selects linked spans by values that they must have. `trace_id` and `span_id` are the ids of the span, every other
 * name is an attribute. All must match; the spans need not exist yet.
 */
export type AttributeLinks = Readonly<Record<string, string>>;

/**
 * Attributes that link a span to others.
 *
 * @example
 * ```ts
 * emitReward(0.5, { attributes: linkAttributes({ 'gen_ai.response.id': response.id }) });
 * ```
 */
export function linkAttributes(links: AttributeLinks): Attributes {
  return Object.fromEntries(
    Object.entries(links).flatMap(([key, value], index) => [
      [`${agentLightningAttributes.link}.${index}.key_match`, key],
      [`${agentLightningAttributes.link}.${index}.value_match`, value],
    ]),
  );
}

/** Links of a span; empty without links. Incomplete links are omitted. */
export function linksFromSpan(span: Pick<Span, 'attributes'>): AttributeLinks {
  const entries = unflattenAttributes(span.attributes, agentLightningAttributes.link);
  if (!Array.isArray(entries)) return {};
  return Object.fromEntries(
    entries
      .filter((entry) => typeof entry?.key_match === 'string' && typeof entry.value_match === 'string')
      .map((entry) => [entry.key_match, entry.value_match]),
  );
}

/**
 * Finds the spans that match all links. Without links there are no matches.
 *
 * @param spans - the spans to search
 * @param links - from {@link linksFromSpan}
 */
export function findLinkedSpans<TSpan extends Pick<Span, 'attributes' | 'spanId' | 'traceId'>>(
  spans: readonly TSpan[],
  links: AttributeLinks,
): readonly TSpan[] {
  const conditions = Object.entries(links);
  if (conditions.length === 0) return [];
  return spans.filter((span) => conditions.every(([key, value]) => linkedValue(span, key) === value));
}

function linkedValue(span: Pick<Span, 'attributes' | 'spanId' | 'traceId'>, key: string): unknown {
  if (key === 'trace_id') return span.traceId;
  return key === 'span_id' ? span.spanId : span.attributes[key];
}

/** Attributes that tag a span. */
export function tagAttributes(tags: readonly string[]): Attributes {
  return Object.fromEntries(tags.map((tag, index) => [`${agentLightningAttributes.tag}.${index}`, tag]));
}

/** Tags of a span, in order; empty without tags. */
export function tagsFromSpan(span: Pick<Span, 'attributes'>): readonly string[] {
  const tags = unflattenAttributes(span.attributes, agentLightningAttributes.tag);
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
}
