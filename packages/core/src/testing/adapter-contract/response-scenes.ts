import { describe, expect, test } from 'vitest';
import { headerNames } from '../../base/header-names.ts';
import { genAiAttributes, modelCallAttributes } from '../../spans/span-attributes.ts';
import { failWith, respondWith } from '../scripted-model-step.ts';
import type { AdapterUnderTest } from './adapter-under-test.ts';
import { sceneApi } from './scene-api.ts';
import { ownKey, SceneStage } from './scene-stage.ts';
import { messagesOf, partsOf, textOf } from './scene-trace.ts';

/** An image of one pixel. */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** Scenes of unusual requests and responses. */
export function describeResponseScenes<TModel>(adapter: AdapterUnderTest<TModel>): void {
  describe('requests and responses', () => {
    describeRepeats(adapter);
    describeOtherApis(adapter);
    describeContents(adapter);
  });
}

function describeRepeats<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('a retried call has one successful record', async (context) => {
    context.skip(adapter.cannot['http-retry'] !== undefined, adapter.cannot['http-retry']);
    const failure = failWith(500, { headers: { 'retry-after-ms': '1' } });
    await using stage = await SceneStage.open(adapter, [failure, respondWith('5')]);
    const model = adapter.createModel(stage.modelOptions({ maxRetries: 1 }));
    const { reply, trace, rollout } = await stage.play(stage.agent({ model }), { prompt: 'What is 2 + 3?' });
    expect(reply).toBe('5');
    const successful = trace.modelCalls.filter(({ status }) => status.code !== 'ERROR');
    expect(successful.map(({ attributes }) => attributes[genAiAttributes.responseId])).toEqual([
      `${sceneApi(adapter).idPrefix}1`,
    ]);
    stage.expectAtGateway(rollout, trace);
  });

  test('every choice of a response is recorded', async (context) => {
    context.skip(adapter.cannot['many-choices'] !== undefined, adapter.cannot['many-choices']);
    await using stage = await SceneStage.open(adapter, [respondWith('5')]);
    const model = adapter.createModel(stage.modelOptions({ choices: 2 }));
    const { trace } = await stage.play(stage.agent({ model }), { prompt: 'What is 2 + 3?' });
    expect(stage.model.requests[0]?.body.n).toBe(2);
    expect(trace.modelCalls).toHaveLength(1);
    expect(messagesOf(trace.modelCalls[0], 'output')).toHaveLength(2);
  });

  test('a cached response is recorded as cached', async (context) => {
    context.skip(adapter.cannot['cached-response'] !== undefined, adapter.cannot['cached-response']);
    await using stage = await SceneStage.open(adapter, [respondWith('5')]);
    const agent = stage.agent({ model: adapter.createModel(stage.modelOptions({ isCached: true })) });
    const rollout = stage.rollout();
    const ask = (): Promise<string> => rollout.run(() => stage.ask(agent, { prompt: 'What is 2 + 3?' }));
    expect([await ask(), await ask()]).toEqual(['5', '5']);
    const cached = rollout.end().modelCalls.map(({ attributes }) => attributes[modelCallAttributes.isCached] === true);
    expect(cached).toEqual([false, true]);
  });
}

function describeOtherApis<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('embeddings are recorded and not redirected', async (context) => {
    context.skip(adapter.cannot.embeddings !== undefined, adapter.cannot.embeddings);
    await using stage = await SceneStage.open(adapter, [], { hasEndpoint: true, ownScript: [respondWith('')] });
    const rollout = stage.rollout();
    const vector = await rollout.run(async () => adapter.embed?.('hello', stage.modelOptions({ model: 'embed' })));
    expect(vector).toHaveLength(3);
    const [request] = stage.own.requests;
    expect(request?.headers.authorization).toBe(`Bearer ${ownKey}`);
    expect(request?.headers).not.toHaveProperty(headerNames.traceId);
    const [embedding, ...others] = rollout.end().of('embedding');
    expect(others).toEqual([]);
    expect(embedding?.attributes[genAiAttributes.requestModel]).toBe('embed');
  });

  test.for([false, true])(
    'the Responses API is recorded like Chat Completions, streamed: %s',
    async (isStreamed, context) => {
      context.skip(adapter.cannot['responses-api'] !== undefined, adapter.cannot['responses-api']);
      await using stage = await SceneStage.open(adapter, [respondWith('one two')]);
      const agent = stage.agent({ model: adapter.createModel(stage.modelOptions({ api: 'responses' })) });
      const { reply, trace, rollout } = await stage.play(agent, { prompt: 'Count.', isStreamed });
      expect(reply).toBe('one two');
      expect(stage.model.requests.map(({ api }) => api)).toEqual(['responses']);
      expect(trace.modelCalls).toHaveLength(1);
      const [call] = trace.modelCalls;
      expect(call?.attributes[genAiAttributes.responseId]).toBe('resp_0');
      expect(call?.attributes[genAiAttributes.usageOutputTokens]).toBe('one two'.length + 1);
      expect(textOf(call, 'input')).toContain('Count.');
      expect(textOf(call, 'output')).toBe('one two');
      stage.expectAtGateway(rollout, trace);
    },
  );
}

function describeContents<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('a prompt larger than 1 MB is sent completely, and is one attribute', async () => {
    const prompt = 'many words '.repeat(110_000);
    await using stage = await SceneStage.open(adapter, [respondWith('5')]);
    const { trace } = await stage.play(stage.agent(), { prompt });
    expect(JSON.stringify(stage.model.requests[0]?.messages.at(-1)).length).toBeGreaterThan(prompt.length);
    expect(textOf(trace.modelCalls[0], 'input')).toHaveLength('Be brief.'.length + prompt.length);
    expect(Object.keys(trace.modelCalls[0]?.attributes ?? {}).length).toBeLessThan(64);
  });

  test('an image is a separate part of the input message', async (context) => {
    context.skip(adapter.cannot.images !== undefined, adapter.cannot.images);
    await using stage = await SceneStage.open(adapter, [respondWith('A pixel.')]);
    const { trace } = await stage.play(stage.agent(), { prompt: 'What is this?', imageUrl: pixel });
    expect(JSON.stringify(stage.model.requests[0]?.body)).toContain(pixel);
    const parts = partsOf(trace.modelCalls[0], 'input');
    expect(parts.filter(({ modality }) => modality === 'image')).toHaveLength(1);
    expect(textOf(trace.modelCalls[0], 'input')).toContain('What is this?');
  });
}
