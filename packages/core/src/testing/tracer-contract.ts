import { describe, expect, test } from 'vitest';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { withRollout } from '../tracing/rollout-context.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { aRolloutContext } from './a-rollout.ts';
import { MemorySpanSink } from './memory-span-sink.ts';

/** Options of the tracer contract. */
export interface TracerContractOptions {
  /** Name of the implementation in the test report. */
  readonly name: string;
  readonly createTracer: () => Tracer;
}

/**
 * Contract tests for every {@link Tracer}, with vitest.
 *
 * @example
 * ```ts
 * describeTracerContract({ name: 'the built-in tracer', createTracer });
 * ```
 */
export function describeTracerContract({ name, createTracer }: TracerContractOptions): void {
  describe(`the tracer contract: ${name}`, () => {
    describeOutside(createTracer);
    describeRecording(createTracer);
    describeNesting(createTracer);
    describeFailures(createTracer);
  });
}

function describeOutside(createTracer: () => Tracer): void {
  test('outside of a rollout it runs the function and records nothing', () => {
    const tracer = createTracer();
    expect(tracer.withSpan('step', (span) => span.spanId.length)).toBe(16);
    const span = tracer.startSpan('step');
    span.setAttribute('a', 1);
    span.recordException(new TypeError('bad'));
    span.end();
  });
}

function describeRecording(createTracer: () => Tracer): void {
  test('a span carries the ids of its rollout, its name, attributes, events and times', () => {
    const sink = new MemorySpanSink();
    const context = aRolloutContext({ sink });
    withRollout(context, () => {
      const span = createTracer().startSpan('step', { attributes: { a: 1 }, startTimeMs: 1000 });
      span.setAttributes({ b: ['x', 'y'], c: true });
      span.addEvent('half-way', { done: 0.5 });
      span.setStatus({ code: 'OK', message: null });
      span.end();
    });
    expect(sink.spans).toHaveLength(1);
    expect(sink.spans[0]).toMatchObject({
      rolloutId: context.rolloutId,
      attemptId: context.attemptId,
      traceId: context.traceId,
      name: 'step',
      attributes: { a: 1, b: ['x', 'y'], c: true },
      status: { code: 'OK', message: null },
      events: [{ name: 'half-way', attributes: { done: 0.5 } }],
      startTimeMs: 1000,
    });
    expect(sink.spans[0]?.endTimeMs).toBeGreaterThan(1000);
    expect(sink.spans[0]?.spanId).toMatch(/^[0-9a-f]{16}$/);
  });

  test('the sink is notified of the start and end of a span', () => {
    const sink = new MemorySpanSink();
    withRollout(aRolloutContext({ sink }), () => {
      const span = createTracer().startSpan('step');
      expect(sink.started.map((started) => started.spanId)).toEqual([span.spanId]);
      expect(sink.spans).toHaveLength(0);
      span.end();
      expect(sink.spans.map((ended) => ended.spanId)).toEqual([span.spanId]);
    });
  });

  test('an ended span does not change and does not end again', () => {
    const sink = new MemorySpanSink();
    withRollout(aRolloutContext({ sink }), () => {
      const span = createTracer().startSpan('step');
      span.end();
      span.setAttribute('late', true);
      span.addEvent('late');
      span.setStatus({ code: 'ERROR', message: 'late' });
      span.end();
    });
    expect(sink.spans).toHaveLength(1);
    expect(sink.spans[0]).toMatchObject({ attributes: {}, events: [], status: { code: 'UNSET' } });
  });

  test('invalid attribute values become text or are omitted', () => {
    const sink = new MemorySpanSink();
    withRollout(aRolloutContext({ sink }), () => {
      const span = createTracer().startSpan('step');
      const cycle: unknown[] = [];
      cycle.push(cycle);
      const odd = { nan: Number.NaN, none: undefined, object: { a: 1 }, mixed: [1, 'a'], big: 10n, cycle };
      span.setAttributes(odd as never);
      span.end();
    });
    const { attributes } = sink.spans[0] ?? {};
    expect(attributes).toMatchObject({ nan: 'NaN', object: '{"a":1}', mixed: '[1,"a"]' });
    expect(attributes).not.toHaveProperty('none');
    expect(() => JSON.stringify(attributes)).not.toThrow();
  });
}

function describeNesting(createTracer: () => Tracer): void {
  test('spans created within a span become its children, also after an await', async () => {
    const sink = new MemorySpanSink();
    const tracer = createTracer();
    await withRollout(aRolloutContext({ sink, parentSpanId: 'feedfeedfeedfeed' }), () =>
      tracer.withSpan('outer', async () => {
        await Promise.resolve();
        await tracer.withSpan('inner', async () => {
          await Promise.resolve();
          tracer.startSpan('leaf').end();
        });
        tracer.startSpan('sibling').end();
      }),
    );
    const byName = Object.fromEntries(sink.spans.map((span) => [span.name, span]));
    expect(byName.outer?.parentId).toBe('feedfeedfeedfeed');
    expect(byName.inner?.parentId).toBe(byName.outer?.spanId);
    expect(byName.leaf?.parentId).toBe(byName.inner?.spanId);
    expect(byName.sibling?.parentId).toBe(byName.outer?.spanId);
    expect(sink.spans.map((span) => span.name)).toEqual(['leaf', 'inner', 'sibling', 'outer']);
  });

  test('a span uses an explicit parent', () => {
    const sink = new MemorySpanSink();
    const tracer = createTracer();
    withRollout(aRolloutContext({ sink, parentSpanId: 'feedfeedfeedfeed' }), () => {
      tracer.startSpan('given', { parentSpanId: 'cafecafecafecafe' }).end();
      tracer.startSpan('root', { parentSpanId: null }).end();
    });
    expect(sink.spans.map((span) => span.parentId)).toEqual(['cafecafecafecafe', null]);
  });

  test('32 concurrent rollouts are isolated', async () => {
    const tracer = createTracer();
    const contexts = Array.from({ length: 32 }, () => aRolloutContext({ sink: new MemorySpanSink() }));
    await Promise.all(
      contexts.map((context, index) =>
        withRollout(context, () =>
          tracer.withSpan(`outer ${index}`, async () => {
            for (let step = 0; step < 5; step += 1) {
              await new Promise((resolve) => setImmediate(resolve));
              await tracer.withSpan(`inner ${index}`, () => Promise.resolve());
            }
          }),
        ),
      ),
    );
    for (const [index, context] of contexts.entries()) {
      const { spans } = context.sink as MemorySpanSink;
      expect(spans.map((span) => span.name)).toEqual([...Array(5).fill(`inner ${index}`), `outer ${index}`]);
      const ids = new Set(spans.map((span) => `${span.rolloutId} ${span.attemptId} ${span.traceId}`));
      expect(ids).toEqual(new Set([`${context.rolloutId} ${context.attemptId} ${context.traceId}`]));
      expect(new Set(spans.slice(0, 5).map((span) => span.parentId))).toEqual(new Set([spans[5]?.spanId]));
    }
  });
}

function describeFailures(createTracer: () => Tracer): void {
  test('an error is recorded with its cause and rethrown unchanged', () => {
    const sink = new MemorySpanSink();
    const error = new RangeError('too far', { cause: new TypeError('underneath') });
    const run = (): void =>
      withRollout(aRolloutContext({ sink }), () =>
        createTracer().withSpan('step', () => {
          throw error;
        }),
      );
    expect(run).toThrow(error);
    expect(sink.spans[0]?.status).toEqual({ code: 'ERROR', message: 'too far' });
    expect(sink.spans[0]?.events[0]).toMatchObject({
      name: 'exception',
      attributes: { 'exception.type': 'RangeError', 'exception.message': 'too far' },
    });
    expect(sink.spans[0]?.events[0]?.attributes['exception.stacktrace']).toContain('TypeError: underneath');
  });

  test('a rejection with any value is recorded and propagated', async () => {
    const sink = new MemorySpanSink();
    const run = withRollout(aRolloutContext({ sink }), () =>
      createTracer().withSpan('step', () => Promise.reject(null)),
    );
    await expect(run).rejects.toBeNull();
    expect(sink.spans[0]?.status.code).toBe('ERROR');
  });

  test('a throwing sink does not affect the agent', async () => {
    const broken = (): never => {
      throw new AgentLightningError({ code: 'INTERNAL', message: 'the sink is broken' });
    };
    const sink = { spanStarted: broken, append: broken, flush: () => Promise.resolve() };
    const result = await withRollout(aRolloutContext({ sink }), () =>
      createTracer().withSpan('step', () => Promise.resolve('fine')),
    );
    expect(result).toBe('fine');
  });

  test('a promise subclass keeps its methods', async () => {
    class FancyPromise<TValue> extends Promise<TValue> {
      describe(): string {
        return 'fancy';
      }
    }
    const sink = new MemorySpanSink();
    const result = withRollout(aRolloutContext({ sink }), () =>
      createTracer().withSpan('step', () => FancyPromise.resolve(1) as FancyPromise<number>),
    );
    expect(result.describe()).toBe('fancy');
    expect(await result).toBe(1);
    expect(sink.spans).toHaveLength(1);
  });
}
