import type { Span } from '@agentlightning/core';
import { agentLightningAttributes, tagAttributes } from '@agentlightning/core/spans';
import { aModelCallSpan, aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import type { CallChoice } from './call-choice.ts';
import { transitionsFromSpans } from './transitions-from-spans.ts';

const graphNode = aSpan({
  spanId: 'aaaaaaaaaaaaaaa1',
  attributes: { 'langgraph.node': 'planner', ...tagAttributes(['hard', 'maths']) },
});
const chain = aSpan({ spanId: 'aaaaaaaaaaaaaaa2', parentId: graphNode.spanId });

/** A planner within a graph's node, called by a boss; a writer; and a call without any attributes. */
const calls: readonly Span[] = [
  {
    ...aModelCallSpan({ sequenceId: 2, agentName: 'planner', agentPath: ['boss', 'planner'], model: 'run-planner' }),
    parentId: chain.spanId,
  },
  aModelCallSpan({ sequenceId: 3, agentName: 'writer', agentPath: ['writer'], model: 'run-writer' }),
  aModelCallSpan({ sequenceId: 4, agentName: null, agentPath: null, model: 'run-writer' }),
];
const spans = [graphNode, chain, ...calls];

const chosen = (choice: CallChoice, of: readonly Span[] = spans): readonly number[] =>
  transitionsFromSpans(of, choice).transitions.map(({ sequenceId }) => sequenceId);

const choices: readonly {
  readonly by: string;
  readonly choice: CallChoice;
  readonly expected: readonly number[];
  readonly reason: string;
}[] = [
  { by: 'agents, by name', choice: { agents: ['writer'] }, expected: [3], reason: 'other_agent' },
  { by: 'agents, by path', choice: { agents: ['boss>planner', 'writer'] }, expected: [2, 3], reason: 'other_agent' },
  { by: 'nodes of a graph, also from within', choice: { nodes: ['planner'] }, expected: [2], reason: 'other_node' },
  { by: 'tags of what a call lies in', choice: { tags: ['maths', 'unknown'] }, expected: [2], reason: 'other_tag' },
  { by: 'models that answered', choice: { models: ['run-writer'] }, expected: [3, 4], reason: 'other_model' },
  {
    by: 'a predicate',
    choice: { onlyCalls: ({ sequenceId }, trace) => sequenceId === trace.modelCalls.length },
    expected: [3],
    reason: 'not_chosen',
  },
];

test.each(choices)('calls are chosen by $by, and the others are counted', ({ choice, expected, reason }) => {
  expect(chosen(choice)).toEqual(expected);
  expect(transitionsFromSpans(spans, choice).excluded).toEqual({ [reason]: calls.length - expected.length });
});

test('a call must be all that was asked for', () => {
  expect(chosen({ agents: ['writer', 'planner'], tags: ['hard'] })).toEqual([2]);
  expect(chosen({ agents: ['writer'], tags: ['hard'] })).toEqual([]);
});

test('a step of an adapter elsewhere in the trace names the node of a call', () => {
  const captured = aModelCallSpan({ sequenceId: 5, responseId: 'chatcmpl-joined' });
  const step = aSpan({
    parentId: chain.spanId,
    attributes: { [agentLightningAttributes.stepKind]: 'model-call', 'gen_ai.response.id': 'chatcmpl-joined' },
  });
  expect(chosen({ nodes: ['planner'] }, [...spans, captured, step])).toEqual([2, 5]);
});

test('spans that lie in each other do not hang the search', () => {
  const one = aSpan({ spanId: 'bbbbbbbbbbbbbbb1', parentId: 'bbbbbbbbbbbbbbb2' });
  const other = aSpan({ spanId: 'bbbbbbbbbbbbbbb2', parentId: 'bbbbbbbbbbbbbbb1' });
  const call = { ...aModelCallSpan({ sequenceId: 7 }), parentId: one.spanId };
  expect(chosen({ tags: ['hard'] }, [one, other, call])).toEqual([]);
});
