import { describe, expect, test } from 'vitest';
import { agentLightningAttributes, genAiAttributes } from '../spans/span-attributes.ts';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { MemorySpanSink } from '../testing/memory-span-sink.ts';
import { AttemptSpans } from '../tracing/attempt-spans.ts';
import { withRollout } from '../tracing/rollout-context.ts';
import { withAgent } from '../tracing/with-agent.ts';
import { AgentSteps } from './agent-steps.ts';

function inRollout(run: (steps: AgentSteps) => void): MemorySpanSink {
  const sink = new MemorySpanSink();
  withRollout(aRolloutContext({ sink }), () => run(new AgentSteps({ framework: 'test' })));
  return sink;
}

describe('agent steps', () => {
  test('a step is a child of its parent step; a hidden parent is skipped', () => {
    const sink = inRollout((steps) => {
      steps.start({ id: 'a', parentId: null, kind: 'agent', name: 'writer' });
      steps.start({ id: 'glue', parentId: 'a', kind: 'step', name: 'sequence', isHidden: true });
      steps.start({ id: 'm', parentId: 'glue', kind: 'model-call', name: 'tiny' });
      for (const id of ['m', 'glue', 'a']) steps.end(id);
    });
    const [call, agent] = sink.spans;
    expect(sink.spans.map(({ name }) => name)).toEqual(['chat tiny', 'invoke_agent writer']);
    expect(call?.parentId).toBe(agent?.spanId);
  });

  test('calls carry the name and path of their agent', () => {
    const sink = inRollout((steps) => {
      steps.start({ id: 'a', parentId: null, kind: 'agent', name: 'supervisor' });
      steps.start({ id: 't', parentId: 'a', kind: 'tool-call', name: 'ask' });
      steps.start({ id: 'b', parentId: 't', kind: 'agent', name: 'expert' });
      steps.start({ id: 'm', parentId: 'b', kind: 'model-call', name: 'tiny' });
      steps.end('m');
    });
    expect(sink.spans[0]?.attributes).toMatchObject({
      [genAiAttributes.agentName]: 'expert',
      [agentLightningAttributes.agentPath]: 'supervisor>expert',
    });
  });

  test('a step can set its agent explicitly', () => {
    const sink = inRollout((steps) => {
      steps.start({ id: 'a', parentId: null, kind: 'agent', name: 'graph' });
      steps.start({ id: 'm', parentId: 'a', kind: 'model-call', name: 'tiny', agentName: 'writer' });
      expect(steps.positionOf('m')).toMatchObject({ agentName: 'writer', agentPath: ['graph', 'writer'] });
      steps.start({ id: 'n', parentId: 'a', kind: 'model-call', name: 'tiny', agentName: 'graph' });
      for (const id of ['m', 'n']) steps.end(id);
    });
    expect(sink.spans.map(({ attributes }) => attributes[agentLightningAttributes.agentPath])).toEqual([
      'graph>writer',
      'graph',
    ]);
    expect(sink.spans[0]?.attributes[genAiAttributes.agentName]).toBe('writer');
  });

  test('a step belongs to the rollout of its parent, independent of the reporting context', () => {
    const steps = new AgentSteps({ framework: 'test' });
    const own = new MemorySpanSink();
    const other = new MemorySpanSink();
    withRollout(aRolloutContext({ sink: own }), () => {
      steps.start({ id: 'a', parentId: null, kind: 'agent', name: 'writer' });
    });
    withRollout(aRolloutContext({ sink: other }), () => {
      steps.start({ id: 'm', parentId: 'a', kind: 'model-call', name: 'tiny' });
      steps.end('m');
    });
    expect([own.spans.length, other.spans.length]).toEqual([1, 0]);
  });

  test('spans that the agent opens between a step and its child step are preserved', () => {
    const sink = inRollout((steps) => {
      steps.start({ id: 'n', parentId: null, kind: 'agent', name: 'graph' });
      steps.within('n', () =>
        withAgent('critic', () => {
          steps.start({ id: 'glue', parentId: 'n', kind: 'step', name: 'sequence', isHidden: true });
          steps.start({ id: 'm', parentId: 'glue', kind: 'model-call', name: 'tiny' });
          expect(steps.positionOf('m')?.agentPath).toEqual(['graph', 'critic']);
          steps.end('m');
        }),
      );
      steps.start({ id: 'o', parentId: 'n', kind: 'model-call', name: 'tiny' });
      steps.end('o');
    });
    const [critics, critic, own] = sink.spans;
    expect(critics?.parentId).toBe(critic?.spanId);
    expect([critics, own].map((call) => call?.attributes[agentLightningAttributes.agentPath])).toEqual([
      'graph>critic',
      'graph',
    ]);
  });

  test('outside of a rollout nothing is recorded', () => {
    const steps = new AgentSteps({ framework: 'test' });
    steps.start({ id: 'a', parentId: null, kind: 'agent', name: 'writer' });
    expect(steps.openCount).toBe(0);
    expect(steps.within('a', () => 7)).toBe(7);
  });

  test('the end of the attempt ends open steps with their collected attributes and removes hidden steps', () => {
    const sink = new MemorySpanSink();
    const spans = new AttemptSpans(sink);
    const steps = new AgentSteps({ framework: 'test' });
    withRollout(aRolloutContext({ sink: spans }), () => {
      steps.start({ id: 'glue', parentId: null, kind: 'step', name: 'sequence', isHidden: true });
      const gathered = (): { text: string } => ({ text: 'so f' });
      steps.start({ id: 'm', parentId: 'glue', kind: 'model-call', name: 'tiny', gathered });
    });
    spans.close();
    expect(sink.spans.map(({ attributes }) => attributes.text)).toEqual(['so f']);
    expect(sink.spans[0]?.attributes[agentLightningAttributes.abandoned]).toBe(true);
    expect(steps.openCount).toBe(0);
  });

  test('an ended hidden step is not reported as open', () => {
    const spans = new AttemptSpans(new MemorySpanSink());
    const steps = new AgentSteps({ framework: 'test' });
    withRollout(aRolloutContext({ sink: spans }), () => {
      steps.start({ id: 'glue', parentId: null, kind: 'step', name: 'sequence', isHidden: true });
      steps.end('glue');
    });
    expect(spans.close()).toBe(0);
  });

  test('a cancelled step is partial and not a failure', () => {
    const sink = inRollout((steps) => {
      steps.start({ id: 'm', parentId: null, kind: 'model-call', name: 'tiny' });
      steps.end('m', { error: new Error('aborted'), isAborted: true });
    });
    expect(sink.spans[0]?.status.code).toBe('UNSET');
    expect(sink.spans[0]?.attributes['agentlightning.partial']).toBe(true);
  });
});
