import { type RolloutContext, type Span, withRollout } from '@agentlightning/core';
import { AttemptSpans, agentLightningAttributes } from '@agentlightning/core/spans';
import { aRolloutContext, MemorySpanSink } from '@agentlightning/core/testing';

/** The result of a run within a rollout. */
export interface RecordedRun<TResult> {
  readonly result: TResult;
  readonly spans: readonly Span[];
  /** The spans as an indented tree: one line each, `!` marks an error. */
  readonly tree: readonly string[];
  /** The number of spans still open at the end. */
  readonly abandoned: number;
}

/** Runs a function in a new rollout. */
export async function recorded<TResult>(
  run: () => Promise<TResult>,
  fields: Partial<RolloutContext> = {},
): Promise<RecordedRun<TResult>> {
  const memory = new MemorySpanSink();
  const attempt = new AttemptSpans(memory);
  const result = await withRollout(aRolloutContext({ sink: attempt, ...fields }), run);
  const abandoned = attempt.close();
  const { spans } = memory;
  return { result, spans, tree: treeOf(spans), abandoned };
}

/** The spans of a step kind. */
export function ofKind(spans: readonly Span[], kind: string): readonly Span[] {
  return spans.filter(({ attributes }) => attributes[agentLightningAttributes.stepKind] === kind);
}

function treeOf(spans: readonly Span[], parentId: string | null = null, indent: string = ''): readonly string[] {
  return spans
    .filter((span) => span.parentId === parentId)
    .toSorted((left, right) => (left.startTimeMs ?? 0) - (right.startTimeMs ?? 0))
    .flatMap((span) => [
      `${indent}${span.name}${span.status.code === 'ERROR' ? ' !' : ''}`,
      ...treeOf(spans, span.spanId, `${indent}  `),
    ]);
}
