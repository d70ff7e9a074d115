import { traceActivity } from '@agentlightning/core/internal';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';
import { recordActivities } from './activity-spans.ts';

test('activities become nested spans with their outcome and error, until the recording ends', async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const end = recordActivities(provider.getTracer('test'));
  const step = traceActivity('train.step', { run_id: 'run-1', step: 3 }, async () => {
    const phases = ['train.collect', 'train.learn'].map((name) =>
      traceActivity(name, {}, async ({ attributes }) => {
        await Promise.resolve();
        attributes['rollouts'] = 8;
      }),
    );
    await Promise.all(phases);
    await traceActivity('train.publish', {}, () => Promise.reject(new Error('runtime lost')));
  });
  await expect(step).rejects.toThrow('runtime lost');
  end();
  await traceActivity('train.step', {}, () => Promise.resolve());
  const spans = exporter.getFinishedSpans();
  const root = spans.find(({ name }) => name === 'train.step');
  expect(spans.map(({ name }) => name)).toEqual(['train.collect', 'train.learn', 'train.publish', 'train.step']);
  expect(root).toMatchObject({
    attributes: { 'agentlightning.run_id': 'run-1', 'agentlightning.step': 3 },
    status: { code: 2, message: 'runtime lost' },
  });
  const children = spans.filter(({ name }) => name !== 'train.step');
  expect(children.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(
    children.map(() => root?.spanContext().spanId),
  );
  expect(children[0]?.attributes).toEqual({ 'agentlightning.rollouts': 8 });
});
