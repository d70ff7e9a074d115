import { describe, expect, test } from 'vitest';
import { callTool, respondWith } from '../scripted-model-step.ts';
import type { AdapterUnderTest } from './adapter-under-test.ts';
import { addTool } from './agent-scenes.ts';
import { SceneStage } from './scene-stage.ts';

/** Scenes of instrumentation and its undo. */
export function describeInstrumentScenes<TModel>(adapter: AdapterUnderTest<TModel>): void {
  const footprint = (): readonly unknown[] => [globalThis.fetch, ...(adapter.footprint?.() ?? [])];

  describe('instrumentation', () => {
    test('instrumenting twice has the effect of once', async () => {
      await using stage = await SceneStage.open(adapter, [callTool('add', { a: 2, b: 3 }), respondWith('5')]);
      const undo = adapter.instrument({ redirect: true });
      const { trace } = await stage.play(stage.agent({ tools: [addTool] }), { prompt: 'What is 2 + 3?' });
      undo();
      undo();
      expect(trace.agents, `agents in\n${trace}`).toHaveLength(1);
      expect(trace.modelCalls).toHaveLength(2);
      expect(stage.model.requests).toHaveLength(2);
      if (adapter.cannot['tool-calls'] === undefined) expect(trace.toolCalls).toHaveLength(1);
    });

    test.for([
      [0, 1],
      [1, 0],
    ])('undo in the order %o restores everything', async ([first = 0, second = 0]) => {
      const before = footprint();
      const undos = [adapter.instrument({ redirect: true }), adapter.instrument({ redirect: true })];
      undos[first]?.();
      undos[second]?.();
      undos[first]?.();
      const after = footprint();
      expect(after).toHaveLength(before.length);
      for (const [index, value] of before.entries()) expect(after[index], `footprint ${index}`).toBe(value);
    });

    test('after the undo nothing is recorded or redirected', async () => {
      adapter.instrument({ redirect: true })();
      const options = { isInstrumented: false, hasEndpoint: true, ownScript: [respondWith('5')] };
      await using stage = await SceneStage.open(adapter, [], options);
      const { reply, trace } = await stage.play(stage.agent(), { prompt: 'What is 2 + 3?' });
      expect(reply).toBe('5');
      expect(trace.modelCalls).toEqual([]);
      if (adapter.modelCallsBy !== 'gateway') expect(trace.spans).toEqual([]);
    });

    test('a model created before instrumentation is traced', async (context) => {
      context.skip(adapter.cannot['model-made-before'] !== undefined, adapter.cannot['model-made-before']);
      await using stage = await SceneStage.open(adapter, [respondWith('5')], { isInstrumented: false });
      const model = adapter.createModel(stage.modelOptions());
      const undo = adapter.instrument({ redirect: true });
      const { trace, rollout } = await stage.play(stage.agent({ model }), { prompt: 'What is 2 + 3?' }).finally(undo);
      expect(trace.modelCalls).toHaveLength(1);
      stage.expectAtGateway(rollout, trace);
    });

    test('it works with NODE_ENV=test, which disables the telemetry of some frameworks', async () => {
      expect(process.env.NODE_ENV).toBe('test');
      await using stage = await SceneStage.open(adapter, [respondWith('5')]);
      const { trace } = await stage.play(stage.agent(), { prompt: 'What is 2 + 3?' });
      expect(trace.modelCalls).toHaveLength(1);
    });
  });
}
