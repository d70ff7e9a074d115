import { genAiAttributes, modelCallFromSpan, rewardFromSpan, type Span } from '@agentlightning/core';

/** A span and the spans that are part of it, in order of sequence id. */
export interface TraceNode {
  readonly span: Span;
  readonly children: readonly TraceNode[];
}

/** Builds the forest of an attempt's spans; a span whose parent is missing becomes a root. */
export function traceTree(spans: readonly Span[]): readonly TraceNode[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const childrenOf = new Map<string | null, Span[]>();
  for (const span of [...spans].sort((left, right) => left.sequenceId - right.sequenceId)) {
    const parent =
      span.parentId !== null && ids.has(span.parentId) && span.parentId !== span.spanId ? span.parentId : null;
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), span]);
  }
  const build = (parent: string | null): readonly TraceNode[] =>
    (childrenOf.get(parent) ?? []).map((span) => ({ span, children: build(span.spanId) }));
  return build(null);
}

/** Draws a trace as a tree of lines. */
export function traceLines(nodes: readonly TraceNode[], indent = ''): string[] {
  return nodes.flatMap(({ span, children }, index) => {
    const isLast = index === nodes.length - 1;
    const head = `${indent}${isLast ? '└─' : '├─'} ${spanText(span)}`;
    return [head, ...traceLines(children, `${indent}${isLast ? '  ' : '│ '}`)];
  });
}

function spanText(span: Span): string {
  const { startTimeMs, endTimeMs } = span;
  const duration = startTimeMs !== null && endTimeMs !== null ? `${(endTimeMs - startTimeMs).toFixed(1)} ms` : '';
  const failed = span.status.code === 'ERROR' ? `ERROR ${span.status.message ?? ''}` : '';
  return [`#${span.sequenceId}`, span.name, ...details(span), duration, failed]
    .filter((part) => part !== '')
    .join('  ');
}

function details(span: Span): string[] {
  const call = modelCallFromSpan(span);
  if (call !== null) {
    const response = call.choices[0]?.responseTokenIds.length ?? 0;
    return [
      call.model,
      `${call.promptTokenIds.length} → ${response} tokens`,
      call.policyVersion === null ? '' : `policy v${call.policyVersion}`,
      call.isTrainable ? '' : `not trained on: ${call.untrainableReason ?? '?'}`,
    ];
  }
  const emitted = rewardFromSpan(span);
  if (emitted !== null) return emitted.rewards.map(({ name, value }) => `${name} ${value}`);
  const tool = span.attributes[genAiAttributes.toolName];
  return tool === undefined ? [] : [String(tool)];
}
