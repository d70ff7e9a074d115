import { newSpanId, newTraceId } from '../base/id.ts';
import { primaryRewardName, rewardAttributes, rewardFromSpan } from './reward-spans.ts';
import type { Attributes, Span, SpanInput } from './span.ts';
import { annotationAttributes, spanNames } from './span-attributes.ts';

/** A judgement of a rollout: a thumb up or down, or the label of a review. */
export type RolloutLabel = 'good' | 'bad';

/** Who judges: a user of the application, a reviewer of the team, or a program. */
export type FeedbackSource = 'user' | 'reviewer' | 'api';

/** The sources of feedback. */
export const feedbackSources: readonly FeedbackSource[] = ['user', 'reviewer', 'api'];

/** The judgement of a finished rollout. At least one field is present. */
export interface Judgement {
  /** The reward of the rollout; a later one replaces it. */
  readonly score?: number;
  /**
   * A reviewer's label is the label of the rollout; `none` removes it. The label of another source is a score of 1 (`good`) or 0
   * (`bad`) where it has none.
   */
  readonly label?: RolloutLabel | 'none';
  /** The response that the agent should have given. A later one replaces it; an empty text removes it. */
  readonly correction?: string;
  /** The reason. A reviewer's comment replaces an earlier one; an empty text removes it. */
  readonly comment?: string;
  /** Id of a rollout of the same task that is worse. */
  readonly preferredOver?: string;
}

/** Feedback on a finished rollout. */
export interface FeedbackInput extends Judgement {
  /** The rollout that is judged. */
  readonly rolloutId: string;
  /** Idempotency key: repeated feedback with the same id on the same rollout is recorded once. @default a new id */
  readonly id?: string;
  /** Who judges. @default 'api' */
  readonly source?: FeedbackSource;
  /** The user or reviewer, as the application names them. */
  readonly user?: string;
  /** When it was given, in Unix milliseconds; a time in the future becomes the time of the store. @default now */
  readonly timeMs?: number;
}

/** Recorded feedback. A score that its label implies is among its fields. */
export interface Feedback extends Judgement {
  /** Its id: unique in its rollout. */
  readonly id: string;
  /** The rollout that is judged. */
  readonly rolloutId: string;
  /** The latest attempt of the rollout at that time. */
  readonly attemptId: string;
  /** Who judges. */
  readonly source: FeedbackSource;
  /** The user or reviewer; absent when unknown. */
  readonly user?: string;
  /** When it was given, in Unix milliseconds. */
  readonly timeMs: number;
}

/** The review of an attempt: the judgements of reviewers, of which the last one of each kind counts. */
export interface RolloutReview {
  readonly label: RolloutLabel | null;
  /** Empty without a comment. */
  readonly comment: string;
  /** The response that the agent should have given; empty without one. */
  readonly correction: string;
  /** Ids of the rollouts that are worse, without repetitions. */
  readonly preferredOver: readonly string[];
}

/** The score of a label. */
const labelScores: Readonly<Record<RolloutLabel | 'none', number | undefined>> = { good: 1, bad: 0, none: undefined };

/**
 * The span that records feedback: feedback is stored, exported and deleted with the other spans of an attempt, and its score is
 * a reward.
 *
 * @param spanId - the same for repeated feedback, which is then recorded once
 */
export function feedbackToSpan(feedback: Feedback, spanId: string = newSpanId()): SpanInput {
  const { id, rolloutId, attemptId, source, timeMs, label, correction, comment, preferredOver, user } = feedback;
  const score = feedback.score ?? (source === 'reviewer' || label === undefined ? undefined : labelScores[label]);
  const given: Readonly<Record<string, string | undefined>> = {
    [annotationAttributes.id]: id,
    [annotationAttributes.source]: source,
    [annotationAttributes.user]: user,
    [annotationAttributes.label]: label,
    [annotationAttributes.correction]: correction,
    [annotationAttributes.comment]: comment,
    [annotationAttributes.preferredOver]: preferredOver,
  };
  const attributes = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]])),
  );
  const reward = score === undefined ? {} : rewardAttributes([{ name: primaryRewardName, value: score }]);
  return annotationSpan({ ...attributes, ...reward }, { rolloutId, attemptId, timeMs, spanId });
}

/** The address, id and time of a span that is recorded after its attempt. */
export interface AnnotationSource {
  readonly rolloutId: string;
  readonly attemptId: string;
  /** @default a new one */
  readonly spanId?: string;
  /** In Unix milliseconds. */
  readonly timeMs: number;
}

/** A span `agentlightning.annotation` that is recorded after the attempt, such as a reward of its group. */
export function annotationSpan(attributes: Attributes, { timeMs, ...ids }: AnnotationSource): SpanInput {
  return {
    spanId: newSpanId(),
    ...ids,
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

/** The feedback that a span records; null for other spans, such as the rewards of agents and of their groups. */
export function feedbackFromSpan(span: Omit<Span, 'sequenceId'>): Feedback | null {
  const { name, attributes } = span;
  if (name !== spanNames.annotation) return null;
  const text = (attribute: string): string | undefined => {
    const value = attributes[attribute];
    return typeof value === 'string' ? value : undefined;
  };
  const label = text(annotationAttributes.label);
  const isLabel = label === 'good' || label === 'bad' || label === 'none';
  const comment = text(annotationAttributes.comment);
  const correction = text(annotationAttributes.correction);
  const preferredOver = text(annotationAttributes.preferredOver);
  const user = text(annotationAttributes.user);
  const given = text(annotationAttributes.source);
  const score = given === undefined ? undefined : rewardFromSpan({ ...span, sequenceId: 0 })?.rewards[0]?.value;
  const judgement: Judgement = {
    ...(score === undefined ? {} : { score }),
    ...(isLabel ? { label } : {}),
    ...(correction === undefined ? {} : { correction }),
    ...(comment === undefined ? {} : { comment }),
    ...(preferredOver === undefined ? {} : { preferredOver }),
  };
  if (Object.keys(judgement).length === 0) return null;
  return {
    ...judgement,
    id: text(annotationAttributes.id) ?? span.spanId,
    rolloutId: span.rolloutId,
    attemptId: span.attemptId,
    // Spans without a source are labels of a dashboard before feedback had sources.
    source: feedbackSources.find((source) => source === given) ?? 'reviewer',
    ...(user === undefined ? {} : { user }),
    timeMs: span.startTimeMs ?? 0,
  };
}

/** The feedback among the spans of an attempt, in the order in which the store received it. */
export function findFeedback(spans: readonly Span[]): readonly Feedback[] {
  return spans
    .toSorted((one, other) => one.sequenceId - other.sequenceId)
    .map(feedbackFromSpan)
    .filter((feedback) => feedback !== null);
}

/** The review among the spans of an attempt: a later label or comment of a reviewer replaces an earlier one. */
export function findReview(spans: readonly Span[]): RolloutReview {
  let label: RolloutLabel | null = null;
  let comment = '';
  let correction = '';
  const preferredOver = new Set<string>();
  for (const feedback of findFeedback(spans)) {
    if (feedback.source !== 'reviewer') continue;
    if (feedback.label !== undefined) label = feedback.label === 'none' ? null : feedback.label;
    if (feedback.comment !== undefined) comment = feedback.comment;
    if (feedback.correction !== undefined) correction = feedback.correction;
    if (feedback.preferredOver !== undefined) preferredOver.add(feedback.preferredOver);
  }
  return { label, comment, correction, preferredOver: [...preferredOver] };
}
