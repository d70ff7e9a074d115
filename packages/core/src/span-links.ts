import type { Attributes, Span } from './span.ts';
import { agentLightningAttributes } from './span-attributes.ts';
import { unflattenAttributes } from './unflatten-attributes.ts';

/**
 * Which spans an annotation is about: what they must have, by name. `trace_id` and `span_id` mean the
 * span's own ids, every other name an attribute. All must match; the spans need not exist yet.
 */
export type AttributeLinks = Readonly<Record<string, string>>;

/**
 * The attributes that link a span to others.
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

/** What a span is linked to; empty when it is not linked. Links that are not whole are left out. */
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
 * The spans that links point to: those that match all of them. No links match nothing.
 *
 * @param spans - where to look
 * @param links - as {@link linksFromSpan} gives them
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

/** The attributes that put tags on a span. */
export function tagAttributes(tags: readonly string[]): Attributes {
  return Object.fromEntries(tags.map((tag, index) => [`${agentLightningAttributes.tag}.${index}`, tag]));
}

/** The tags on a span, in order; empty when it has none. */
export function tagsFromSpan(span: Pick<Span, 'attributes'>): readonly string[] {
  const tags = unflattenAttributes(span.attributes, agentLightningAttributes.tag);
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
}
