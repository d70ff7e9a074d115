import type { Span } from '@agentlightning/core';
import { foreignModelCall } from '@agentlightning/core/internal';
import { joinModelCalls, spanNames } from '@agentlightning/core/spans';
import { readStep } from './read-step.ts';
import type { TraceStep } from './trace-step.ts';

/**
 * The trace of an attempt as a tree of steps in the order they started.
 *
 * The gateway's and an adapter's record of the same model call become one step. A span whose parent is not among
 * the spans is a root; a cycle of parents is cut at one span.
 *
 * @param spans - of one attempt, in any order
 *
 * @example
 * ```ts
 * const { items } = await store.querySpans({ rolloutId, attemptId: 'latest' });
 * console.log(traceText(traceSteps(items)));
 * ```
 */
export function traceSteps(spans: readonly Span[]): readonly TraceStep[] {
  // How a step trained on the attempt is not a step of the agent.
  const steps = spans.filter(({ name }) => name !== spanNames.training);
  const joined = joinedSpans(steps.map((span) => foreignModelCall(span) ?? span));
  const parents = parentsOf(joined);
  const childrenOf = new Map<string | null, JoinedSpan[]>();
  for (const item of joined) {
    const parent = parents.get(item.span.spanId) ?? null;
    const siblings = childrenOf.get(parent);
    if (siblings === undefined) childrenOf.set(parent, [item]);
    else siblings.push(item);
  }
  for (const siblings of childrenOf.values()) siblings.sort(byTime);
  return builtSteps(childrenOf);
}

/** The tree of steps, built from the leaves up without recursion: spans may be nested thousands of levels deep. */
function builtSteps(childrenOf: ReadonlyMap<string | null, readonly JoinedSpan[]>): readonly TraceStep[] {
  const ordered = [...(childrenOf.get(null) ?? [])];
  for (let index = 0; index < ordered.length; index += 1) {
    for (const child of childrenOf.get(ordered[index]?.span.spanId ?? '') ?? []) ordered.push(child);
  }
  const built = new Map<string, TraceStep>();
  const stepsUnder = (parent: string | null): readonly TraceStep[] =>
    (childrenOf.get(parent) ?? []).map(({ span }) => built.get(span.spanId)).filter((step) => step !== undefined);
  for (const { span, captured } of ordered.reverse()) {
    built.set(span.spanId, readStep({ span, captured, children: stepsUnder(span.spanId) }));
  }
  return stepsUnder(null);
}

/** A span, with the record of the same model call that has its tokens. */
interface JoinedSpan {
  readonly span: Span;
  readonly captured: Span | null;
}

/** Every span once: the gateway's span of a model call is merged into the adapter's span of the same call. */
function joinedSpans(spans: readonly Span[]): readonly JoinedSpan[] {
  const capturedOf = new Map<string, Span>();
  for (const { captured, step } of joinModelCalls(spans)) {
    if (captured !== null && step !== null) capturedOf.set(step.spanId, captured);
  }
  const parts = new Set([...capturedOf.values()].map(({ spanId }) => spanId));
  const own = new Map(spans.filter(({ spanId }) => !parts.has(spanId)).map((span) => [span.spanId, span]));
  return [...own.values()].map((span) => ({ span, captured: capturedOf.get(span.spanId) ?? null }));
}

/** The parent of each span that has one among the spans. In a cycle of parents, one span becomes a root. */
function parentsOf(joined: readonly JoinedSpan[]): ReadonlyMap<string, string> {
  const known = new Set(joined.map(({ span }) => span.spanId));
  const parents = new Map<string, string>();
  for (const { span } of joined) {
    if (span.parentId !== null && known.has(span.parentId)) parents.set(span.spanId, span.parentId);
  }
  const rooted = new Set<string>();
  for (const { span } of joined) {
    const path = new Set<string>();
    let current: string | undefined = span.spanId;
    while (current !== undefined && !rooted.has(current) && !path.has(current)) {
      path.add(current);
      current = parents.get(current);
    }
    if (current !== undefined && path.has(current)) parents.delete(current);
    for (const spanId of path) rooted.add(spanId);
  }
  return parents;
}

/** By the moment they began where it is known of both, else in the order they were recorded. */
function byTime({ span: one }: JoinedSpan, { span: other }: JoinedSpan): number {
  const byStart = (one.startTimeMs ?? 0) - (other.startTimeMs ?? 0);
  const isKnown = one.startTimeMs !== null && other.startTimeMs !== null;
  return isKnown && byStart !== 0 ? byStart : one.sequenceId - other.sequenceId;
}
