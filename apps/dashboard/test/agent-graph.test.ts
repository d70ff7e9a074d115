import { expect, test } from 'vitest';
import type { TraceNode } from '../src/api/rollout-views.ts';
import { agentGraph } from '../web/data/agent-graph.ts';

let sequenceId = 0;

function step(kind: TraceNode['kind'], agentPath: readonly string[], changes: Partial<TraceNode> = {}): TraceNode {
  sequenceId += 1;
  return {
    spanId: `span-${sequenceId}`,
    depth: 1,
    sequenceId,
    kind,
    title: 'model',
    requestedModel: null,
    agentPath,
    startTimeMs: sequenceId,
    endTimeMs: sequenceId,
    outcome: 'ok',
    error: null,
    stackTrace: null,
    toolArguments: null,
    toolResult: null,
    tokens: {
      prompt: 1,
      response: 5,
      policyVersion: 0,
      newestPolicyVersion: 0,
      isTrainable: true,
      untrainableReason: null,
    },
    rewards: [],
    ...changes,
  };
}

const idOf = (...path: readonly string[]): string => JSON.stringify(path);

test('agents delegate to inner agents, hand over to others, and call tools', () => {
  const { nodes, edges } = agentGraph([
    step('model-call', ['desk']),
    step('tool-call', ['desk'], { title: 'search' }),
    step('tool-call', ['desk'], { title: 'search', outcome: 'error' }),
    step('model-call', ['desk', 'expert']),
    step('model-call', ['desk']),
    step('model-call', ['clerk']),
  ]);
  expect(nodes.map(({ name, kind, calls, tokens, errors }) => [name, kind, calls, tokens, errors])).toEqual([
    ['desk', 'agent', 2, 10, 0],
    ['search', 'tool', 2, 0, 1],
    ['expert', 'agent', 1, 5, 0],
    ['clerk', 'agent', 1, 5, 0],
  ]);
  expect(edges).toEqual([
    { from: idOf('desk'), to: `${idOf('desk')} tool search`, kind: 'calls', count: 2 },
    { from: idOf('desk'), to: idOf('desk', 'expert'), kind: 'delegates', count: 1 },
    { from: idOf('desk'), to: idOf('clerk'), kind: 'hands over', count: 1 },
  ]);
});

test('steps without an agent belong to one agent', () => {
  const { nodes, edges } = agentGraph([step('rollout', []), step('model-call', []), step('model-call', [])]);
  expect(nodes).toEqual([{ id: idOf('agent'), kind: 'agent', name: 'agent', calls: 2, tokens: 10, errors: 0 }]);
  expect(edges).toEqual([]);
});
