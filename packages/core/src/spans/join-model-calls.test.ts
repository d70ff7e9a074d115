import { describe, expect, test } from 'vitest';
import { aSpan } from '../testing/a-span.ts';
import { joinModelCalls } from './join-model-calls.ts';
import type { Attributes, Span } from './span.ts';

function capture(fields: Partial<Span>, responseId: string | null = null): Span {
  return aSpan({ ...fields, attributes: withId({ 'agentlightning.trainable': true }, responseId) });
}

function step(fields: Partial<Span>, responseId: string | null = null): Span {
  return aSpan({ ...fields, attributes: withId({ 'agentlightning.step.kind': 'model-call' }, responseId) });
}

function withId(attributes: Attributes, responseId: string | null): Attributes {
  return responseId === null ? attributes : { ...attributes, 'gen_ai.response.id': responseId };
}

function pairs(spans: readonly Span[]): readonly (readonly [string | null, string | null])[] {
  return joinModelCalls(spans).map(({ captured, step: own }) => [captured?.spanId ?? null, own?.spanId ?? null]);
}

describe('model call join', () => {
  test('a capture and a step with the same response id are joined', () => {
    const spans = [capture({ spanId: 'c', sequenceId: 1 }, 'r'), step({ spanId: 's', sequenceId: 2 }, 'r')];
    expect(pairs(spans)).toEqual([['c', 's']]);
  });

  test('a capture within a step is joined with it without a response id', () => {
    const spans = [capture({ spanId: 'c', sequenceId: 1, parentId: 's' }, 'r'), step({ spanId: 's', sequenceId: 2 })];
    expect(pairs(spans)).toEqual([['c', 's']]);
  });

  test('among retries within one step, the successful one is joined', () => {
    const spans = [
      capture({ spanId: 'failed', sequenceId: 1, parentId: 's' }),
      capture({ spanId: 'answered', sequenceId: 2, parentId: 's' }, 'r'),
      step({ spanId: 's', sequenceId: 3 }, 'r'),
    ];
    expect(pairs(spans)).toEqual([
      ['failed', null],
      ['answered', 's'],
    ]);
  });

  test('responses that share an id are joined in order', () => {
    const spans = [
      step({ spanId: 's1', sequenceId: 2 }, 'same'),
      capture({ spanId: 'c1', sequenceId: 1 }, 'same'),
      step({ spanId: 's2', sequenceId: 4 }, 'same'),
      capture({ spanId: 'c2', sequenceId: 3 }, 'same'),
    ];
    expect(pairs(spans)).toEqual([
      ['c1', 's1'],
      ['c2', 's2'],
    ]);
  });

  test('unmatched records stay separate, and other spans are omitted', () => {
    const spans = [step({ spanId: 's', sequenceId: 1 }, 'a'), aSpan({}), capture({ spanId: 'c', sequenceId: 3 }, 'b')];
    expect(pairs(spans)).toEqual([
      [null, 's'],
      ['c', null],
    ]);
  });
});
