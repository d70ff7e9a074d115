import { describe, expect, test } from 'vitest';
import type { Span } from '../../spans/span.ts';
import { agentLightningAttributes, genAiAttributes, modelCallAttributes } from '../../spans/span-attributes.ts';
import { respondWith } from '../scripted-model-step.ts';
import type { AdapterUnderTest } from './adapter-under-test.ts';
import { aGate, sceneApi } from './scene-api.ts';
import { SceneStage } from './scene-stage.ts';
import { type SceneTrace, textOf } from './scene-trace.ts';

/** Scenes of streams and their endings. */
export function describeStreamScenes<TModel>(adapter: AdapterUnderTest<TModel>): void {
  describe('streams', () => {
    describeFullStream(adapter);
    describeLeftStreams(adapter);
    describeFailedStreams(adapter);
  });
}

/** Expects one model call, marked as incomplete, with the partial output. */
function expectUnfinished<TModel>(adapter: AdapterUnderTest<TModel>, trace: SceneTrace): Span | undefined {
  expect(trace.modelCalls, `model calls in\n${trace}`).toHaveLength(1);
  const [call] = trace.modelCalls;
  const { attributes, status } = call ?? {};
  const isMarked =
    attributes?.[modelCallAttributes.isPartial] === true ||
    attributes?.[agentLightningAttributes.abandoned] === true ||
    status?.code === 'ERROR';
  expect(isMarked, 'marked as partial, abandoned or failed').toBe(true);
  if (adapter.cannot['partial-text'] === undefined) expect(textOf(call, 'output')).toContain('one');
  return call;
}

function describeFullStream<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('a stream is recorded like a non-streamed response', async (context) => {
    context.skip(adapter.cannot.stream !== undefined, adapter.cannot.stream);
    await using stage = await SceneStage.open(adapter, [respondWith('one two three')]);
    let seen = '';
    const { reply, trace, rollout } = await stage.play(stage.agent(), {
      prompt: 'Count.',
      isStreamed: true,
      onText: (text) => {
        seen += text;
        return true;
      },
    });
    expect([reply, seen]).toEqual(['one two three', 'one two three']);
    expect(stage.model.requests[0]?.body.stream).toBe(true);
    expect(trace.modelCalls).toHaveLength(1);
    const [call] = trace.modelCalls;
    expect(call?.status.code).not.toBe('ERROR');
    expect(call?.attributes[modelCallAttributes.isPartial]).not.toBe(true);
    expect(call?.attributes[genAiAttributes.responseId]).toBe(`${sceneApi(adapter).idPrefix}0`);
    expect(textOf(call, 'output')).toBe('one two three');
    stage.expectAtGateway(rollout, trace);
  });
}

function describeLeftStreams<TModel>(adapter: AdapterUnderTest<TModel>): void {
  const { extraEvents } = sceneApi(adapter);

  test('an abandoned stream is recorded partially', async (context) => {
    context.skip(adapter.cannot['stream-broken-off'] !== undefined, adapter.cannot['stream-broken-off']);
    const gate = aGate();
    const step = respondWith('one two three', { pauseAfterChunks: 3 + extraEvents, until: gate.opened });
    await using stage = await SceneStage.open(adapter, [step]);
    const { trace } = await stage.play(stage.agent(), {
      prompt: 'Count.',
      isStreamed: true,
      onText: (text) => !text.includes('one'),
    });
    expectUnfinished(adapter, trace);
    gate.open();
    await stage.model.idle();
  });

  test.for(['without a reason', 'for a reason of its user'])(
    'an aborted stream (%s) stops the model, and is recorded partially',
    async (how, context) => {
      context.skip(adapter.cannot['stream-aborted'] !== undefined, adapter.cannot['stream-aborted']);
      const never = new Promise(() => {});
      await using stage = await SceneStage.open(adapter, [
        respondWith('one two three', { pauseAfterChunks: 3 + extraEvents, until: never }),
      ]);
      const controller = new AbortController();
      const rollout = stage.rollout();
      const onText = (): boolean => {
        if (how === 'without a reason') controller.abort();
        else controller.abort(new Error('the user has read enough'));
        return true;
      };
      const { signal } = controller;
      // Frameworks differ in whether an abort is an error of the agent; it is not an error of the model call.
      await rollout
        .run(() => stage.ask(stage.agent(), { prompt: 'Count.', isStreamed: true, onText, signal }))
        .catch(() => {});
      await stage.model.waitForDisconnects(1);
      const trace = rollout.end();
      expectUnfinished(adapter, trace);
      if (adapter.modelCallsBy === 'gateway') return;
      // Without an end event from the framework, the attempt's end closes the span.
      const failed = trace.spans.filter(({ status, attributes }) => {
        return status.code === 'ERROR' && attributes[agentLightningAttributes.abandoned] !== true;
      });
      expect(failed, `failures in\n${trace}`).toEqual([]);
    },
  );
}

function describeFailedStreams<TModel>(adapter: AdapterUnderTest<TModel>): void {
  const { extraEvents } = sceneApi(adapter);

  test('a stream closed by the server is recorded partially', async (context) => {
    context.skip(adapter.cannot['stream-cut'] !== undefined, adapter.cannot['stream-cut']);
    // Only after its reader has received some chunks: Bun drops unread data of a broken connection.
    const gate = aGate();
    const chunks = 3 + extraEvents;
    const step = respondWith('one two three', {
      pauseAfterChunks: chunks,
      until: gate.opened,
      cutAfterChunks: chunks + 1,
    });
    await using stage = await SceneStage.open(adapter, [step]);
    const rollout = stage.rollout();
    const onText = (): boolean => {
      gate.open();
      return true;
    };
    await rollout.run(() => stage.ask(stage.agent(), { prompt: 'Count.', isStreamed: true, onText })).catch(() => {});
    expectUnfinished(adapter, rollout.end());
  });

  test('an error within a stream is recorded with its message', async (context) => {
    context.skip(adapter.cannot['stream-error'] !== undefined, adapter.cannot['stream-error']);
    await using stage = await SceneStage.open(adapter, [
      respondWith('one two three', { errorAfterChunks: 2 + extraEvents }),
    ]);
    const rollout = stage.rollout();
    await rollout.run(() => stage.ask(stage.agent(), { prompt: 'Count.', isStreamed: true })).catch(() => {});
    const call = expectUnfinished(adapter, rollout.end());
    expect(call?.status.code).toBe('ERROR');
    expect(JSON.stringify([call?.status, call?.events])).toContain('scripted stream error');
  });
}
