import { joinModelCalls, type Span } from '@agentlightning/core';
import { readStep } from './read-step.ts';
import type { TraceStep } from './trace-step.ts';

/**
 * The trace of an attempt as people look at it: a tree of steps, in the order they happened.
 *
 * The gateway's and an adapter's record of the same model call become one step. A span whose parent is not among
 * the spans stands at the top, as do spans that name each other as their parents.
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
  const joined = joinedSpans(spans);
  const parents = parentsOf(joined);
  const childrenOf = new Map<string | null, JoinedSpan[]>();
  for (const item of joined) {
    const parent = parents.get(item.span.spanId) ?? null;
    const siblings = childrenOf.get(parent);
    if (siblings === undefined) childrenOf.set(parent, [item]);
    else siblings.push(item);
  }
  const build = (parent: string | null): readonly TraceStep[] =>
    [...(childrenOf.get(parent) ?? [])]
      .sort(byTime)
      .map(({ span, captured }) => readStep({ span, captured, children: build(span.spanId) }));
  return build(null);
}

/** A span, with the record of the same model call that has its tokens. */
interface JoinedSpan {
  readonly span: Span;
  readonly captured: Span | null;
}

/** Every span once: a capture that belongs to an adapter's step is part of it, and is no step of its own. */
function joinedSpans(spans: readonly Span[]): readonly JoinedSpan[] {
  const capturedOf = new Map<string, Span>();
  for (const { captured, step } of joinModelCalls(spans)) {
    if (captured !== null && step !== null) capturedOf.set(step.spanId, captured);
  }
  const parts = new Set([...capturedOf.values()].map(({ spanId }) => spanId));
  const own = new Map(spans.filter(({ spanId }) => !parts.has(spanId)).map((span) => [span.spanId, span]));
  return [...own.values()].map((span) => ({ span, captured: capturedOf.get(span.spanId) ?? null }));
}

/** The parent of each span that has one among the spans. A circle of parents is cut open where it is found. */
function parentsOf(joined: readonly JoinedSpan[]): ReadonlyMap<string, string> {
  const known = new Set(joined.map(({ span }) => span.spanId));
  const parents = new Map<string, string>();
  for (const { span } of joined) {
    if (span.parentId === null || !known.has(span.parentId)) continue;
    if (!isAbove(span.spanId, span.parentId, parents)) parents.set(span.spanId, span.parentId);
  }
  return parents;
}

/** Whether a span is the other one, or above it. */
function isAbove(spanId: string, other: string, parents: ReadonlyMap<string, string>): boolean {
  for (let current: string | undefined = other; current !== undefined; current = parents.get(current)) {
    if (current === spanId) return true;
  }
  return false;
}

/** By the moment they began where it is known of both, else in the order they were recorded. */
function byTime({ span: one }: JoinedSpan, { span: other }: JoinedSpan): number {
  const byStart = (one.startTimeMs ?? 0) - (other.startTimeMs ?? 0);
  const isKnown = one.startTimeMs !== null && other.startTimeMs !== null;
  return isKnown && byStart !== 0 ? byStart : one.sequenceId - other.sequenceId;
}
