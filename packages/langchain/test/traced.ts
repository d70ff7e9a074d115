import { type RolloutContext, type Span, withRollout } from '@agentlightning/core';
import { AttemptSpans } from '@agentlightning/core/spans';
import { aRolloutContext, MemorySpanSink, type ScriptedModel } from '@agentlightning/core/testing';
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai';
import { instrumentLangChain } from '../src/index.ts';

/** The result of a traced rollout. */
export interface Traced<TResult> {
  readonly result: TResult;
  readonly spans: readonly Span[];
  /** The spans as an indented tree, one line each, with status and notable attributes. */
  readonly tree: readonly string[];
}

/** Runs a function in a rollout and ends the attempt. */
export async function traced<TResult>(
  run: () => Promise<TResult>,
  fields: Partial<RolloutContext> = {},
): Promise<Traced<TResult>> {
  const sink = new MemorySpanSink();
  const attempt = new AttemptSpans(sink);
  const undo = instrumentLangChain();
  try {
    const result = await withRollout(aRolloutContext({ sink: attempt, ...fields }), run);
    attempt.close();
    return { result, spans: sink.spans, tree: treeOf(sink.spans) };
  } finally {
    undo();
  }
}

/** A LangChain model backed by a scripted server. */
export function modelOf({ baseUrl }: ScriptedModel, fields: ChatOpenAIFields = {}): ChatOpenAI {
  return new ChatOpenAI({
    model: 'tiny',
    apiKey: 'own',
    maxRetries: 0,
    configuration: { baseURL: baseUrl },
    ...fields,
  });
}

/** The only span with this name. */
export function spanNamed(spans: readonly Span[], name: string): Span {
  const [span, ...others] = spans.filter((candidate) => candidate.name === name);
  if (span === undefined || others.length > 0) throw new TypeError(`${others.length} more or no span ${name}`);
  return span;
}

function treeOf(spans: readonly Span[], parentId: string | null = null, indent: string = ''): readonly string[] {
  return spans
    .filter((span) => span.parentId === parentId)
    .toSorted((left, right) => (left.startTimeMs ?? 0) - (right.startTimeMs ?? 0) || left.sequenceId - right.sequenceId)
    .flatMap((span) => [`${indent}${span.name}${notesOn(span)}`, ...treeOf(spans, span.spanId, `${indent}  `)]);
}

function notesOn({ status, attributes }: Span): string {
  const notes = [
    status.code === 'ERROR' ? 'ERROR' : '',
    attributes['agentlightning.partial'] === true ? 'partial' : '',
    attributes['agentlightning.abandoned'] === true ? 'abandoned' : '',
    attributes['langgraph.interrupted'] === true ? 'interrupted' : '',
    attributes['langgraph.resumed'] === true ? 'resumed' : '',
    attributes['langgraph.retry'] === undefined ? '' : `retry ${attributes['langgraph.retry']}`,
  ];
  return notes
    .filter((note) => note !== '')
    .map((note) => ` [${note}]`)
    .join('');
}
