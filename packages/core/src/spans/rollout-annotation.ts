import { newSpanId, newTraceId } from '../base/id.ts';
import type { Attributes, Span, SpanInput } from './span.ts';
import { annotationAttributes, spanNames } from './span-attributes.ts';

/** A person's judgement of a rollout. */
export type RolloutLabel = 'good' | 'bad';

/** A person's annotation of a finished attempt. Absent fields are unchanged. */
export interface RolloutAnnotation {
  /** Null removes the label. */
  readonly label?: RolloutLabel | null;
  /** An empty text removes the note. */
  readonly note?: string;
  /** Id of a rollout of the same task that is worse. */
  readonly preferredOver?: string;
}

/** All annotations of an attempt. */
export interface RolloutAnnotations {
  readonly label: RolloutLabel | null;
  /** Empty without a note. */
  readonly note: string;
  /** Ids of the rollouts that are worse, without repetitions. */
  readonly preferredOver: readonly string[];
}

/** The address and time of an annotation. */
export interface AnnotationSource {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** In Unix milliseconds. */
  readonly timeMs: number;
}

/**
 * The span that records an annotation: annotations are stored, exported and deleted with the other spans of an attempt.
 *
 * @example
 * ```ts
 * await store.appendSpans([annotationToSpan({ label: 'good' }, { rolloutId, attemptId, timeMs: clock.now() })]);
 * ```
 */
export function annotationToSpan(annotation: RolloutAnnotation, source: AnnotationSource): SpanInput {
  const { label, note, preferredOver } = annotation;
  const attributes = {
    ...(label === undefined ? {} : { [annotationAttributes.label]: label ?? 'none' }),
    ...(note === undefined ? {} : { [annotationAttributes.note]: note }),
    ...(preferredOver === undefined ? {} : { [annotationAttributes.preferredOver]: preferredOver }),
  };
  return annotationSpan(attributes, source);
}

/** A span `agentlightning.annotation` that is recorded after the attempt, such as a reward of its group. */
export function annotationSpan(attributes: Attributes, { timeMs, ...ids }: AnnotationSource): SpanInput {
  return {
    ...ids,
    spanId: newSpanId(),
    traceId: newTraceId(),
    parentId: null,
    name: spanNames.annotation,
    status: { code: 'OK', message: null },
    attributes,
    startTimeMs: timeMs,
    endTimeMs: timeMs,
    events: [],
    links: [],
    resource: { attributes: {}, schemaUrl: '' },
  };
}

/** The annotation that a span records; null for other spans. */
export function annotationFromSpan({ name, attributes }: Pick<Span, 'name' | 'attributes'>): RolloutAnnotation | null {
  if (name !== spanNames.annotation) return null;
  const label = attributes[annotationAttributes.label];
  const note = attributes[annotationAttributes.note];
  const preferredOver = attributes[annotationAttributes.preferredOver];
  const isLabel = label === 'good' || label === 'bad' || label === 'none';
  const annotation: RolloutAnnotation = {
    ...(isLabel ? { label: label === 'none' ? null : label } : {}),
    ...(typeof note === 'string' ? { note } : {}),
    ...(typeof preferredOver === 'string' ? { preferredOver } : {}),
  };
  return Object.keys(annotation).length === 0 ? null : annotation;
}

/** The annotations among the spans of an attempt: a later label or note replaces an earlier one. */
export function findAnnotations(
  spans: readonly Pick<Span, 'name' | 'attributes' | 'sequenceId'>[],
): RolloutAnnotations {
  let label: RolloutLabel | null = null;
  let note = '';
  const preferredOver = new Set<string>();
  for (const span of spans.toSorted((one, other) => one.sequenceId - other.sequenceId)) {
    const annotation = annotationFromSpan(span);
    if (annotation?.label !== undefined) label = annotation.label;
    if (annotation?.note !== undefined) note = annotation.note;
    if (annotation?.preferredOver !== undefined) preferredOver.add(annotation.preferredOver);
  }
  return { label, note, preferredOver: [...preferredOver] };
}
