import { type RolloutContext, type Span, type SpanSink, withRollout } from '@agentlightning/core';
import { AttemptSpans } from '@agentlightning/core/spans';
import { aRolloutContext, MemorySpanSink, type ScriptedModel } from '@agentlightning/core/testing';

/** The result of a traced rollout. */
export interface Traced<TResult> {
  readonly result: TResult;
  readonly spans: readonly Span[];
  /** The spans as an indented tree, one line each, in start order. */
  readonly tree: string;
  readonly late: number;
}

/** Runs a function as the agent of a rollout with this model as its endpoint, or without an endpoint. */
export async function traced<TResult>(
  model: ScriptedModel | null,
  run: () => Promise<TResult>,
): Promise<Traced<TResult>> {
  const memory = new MemorySpanSink();
  const late: unknown[] = [];
  const attempt = new AttemptSpans(memory, { onLateSpan: (span) => late.push(span) });
  const endpoint = model === null ? null : { baseUrl: model.baseUrl, model: 'policy', apiKey: 'key-of-the-gateway' };
  const order: string[] = [];
  const sink: SpanSink = {
    spanStarted: (span) => {
      order.push(span.spanId);
      attempt.spanStarted(span);
    },
    spanDiscarded: (spanId) => attempt.spanDiscarded(spanId),
    append: (span) => attempt.append(span),
    flush: () => attempt.flush(),
  };
  const context: RolloutContext = aRolloutContext({ sink, endpoint });
  const result = await withRollout(context, run);
  attempt.close();
  const spans = memory.spans.toSorted((left, right) => order.indexOf(left.spanId) - order.indexOf(right.spanId));
  return { result, spans, tree: treeOf(spans), late: late.length };
}

/** The spans of a step kind. */
export function ofKind(spans: readonly Span[], kind: string): readonly Span[] {
  return spans.filter(({ attributes }) => attributes['agentlightning.step.kind'] === kind);
}

/** The recorded response text of a model call. */
export function outputText(span: Span | undefined): string {
  const messages = JSON.parse(String(span?.attributes['gen_ai.output.messages'] ?? '[]')) as {
    parts: { type: string; content: string }[];
  }[];
  return messages
    .flatMap(({ parts }) => parts)
    .map(({ content }) => content)
    .join('');
}

function treeOf(spans: readonly Span[], parentId: string | null = null, indent = ''): string {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans
    .filter((span) => (parentId === null ? !ids.has(span.parentId ?? '') : span.parentId === parentId))
    .map((span) => `${indent}${span.name}\n${treeOf(spans, span.spanId, `${indent}  `)}`)
    .join('');
}

/** A promise with its resolve function. */
export function aGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
