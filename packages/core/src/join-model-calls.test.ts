import { describe, expect, test } from 'vitest';
import { joinModelCalls } from './join-model-calls.ts';
import type { Attributes, Span } from './span.ts';
import { aSpan } from './testing/a-span.ts';

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
  return joinModelCalls(spans).map(({ captured, step: told }) => [captured?.spanId ?? null, told?.spanId ?? null]);
}

describe('joining the records of model calls', () => {
  test('a capture and a step of the same response are one call', () => {
    const spans = [capture({ spanId: 'c', sequenceId: 1 }, 'r'), step({ spanId: 's', sequenceId: 2 }, 'r')];
    expect(pairs(spans)).toEqual([['c', 's']]);
  });

  test('a capture made inside a step belongs to it, though no id is known of the answer', () => {
    const spans = [capture({ spanId: 'c', sequenceId: 1, parentId: 's' }, 'r'), step({ spanId: 's', sequenceId: 2 })];
    expect(pairs(spans)).toEqual([['c', 's']]);
  });

  test('of the tries of one step, the one that was answered has it', () => {
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

  test('answers that share an id are joined in their order', () => {
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

  test('records that only one side has stay alone, and other spans are left out', () => {
    const spans = [step({ spanId: 's', sequenceId: 1 }, 'a'), aSpan({}), capture({ spanId: 'c', sequenceId: 3 }, 'b')];
    expect(pairs(spans)).toEqual([
      [null, 's'],
      ['c', null],
    ]);
  });
});
