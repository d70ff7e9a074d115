import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { errorCatalogue } from '../errors/error-catalogue.ts';
import { IllegalTransitionError } from '../errors/illegal-transition-error.ts';
import { NotFoundError } from '../errors/not-found-error.ts';
import { ValidationError } from '../errors/validation-error.ts';
import { parse } from '../parse.ts';
import { anAttemptedRollout } from '../testing/a-rollout.ts';
import { aSpan } from '../testing/a-span.ts';
import { errorFromWire, errorToWire, httpStatusOf } from './wire-error.ts';
import { rolloutCodec } from './wire-rollout.ts';
import { rolloutPatchCodec } from './wire-rollout-patch.ts';
import { spanFromWire, spanInputFromWire, spanToWire, wireSpanSchema } from './wire-span.ts';
import { msFromSeconds, secondsFromMs } from './wire-time.ts';

/** As it would arrive over a network. */
function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe('times', () => {
  test('of this century keep their microseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000_000_000 }), (microseconds) => {
        const timeMs = microseconds / 1000;
        expect(msFromSeconds(secondsFromMs(timeMs))).toBe(timeMs);
      }),
    );
  });
});

describe('rollouts', () => {
  test('survive the wire', () => {
    const rollout = anAttemptedRollout({
      input: { camelCase: 1, snake_case: [null] },
      config: { timeoutMs: 1500, unresponsiveMs: null, maxAttempts: 3, retryCondition: ['timeout'] },
      endTimeMs: 1_700_000_000_123.456,
    });
    expect(parse(rolloutCodec, overTheWire(rolloutCodec.encode(rollout)), 'rollout')).toEqual(rollout);
  });

  test('of the Python server need no fields of ours', () => {
    const wire = { rollout_id: 'ro-1', input: 'x', start_time: 1.5, status: 'queuing', config: {} };
    expect(parse(rolloutCodec, wire, 'rollout')).toMatchObject({
      runId: null,
      startTimeMs: 1500,
      config: { maxAttempts: 1, retryCondition: [] },
    });
  });

  test('are changed to null where null is said, and left alone where nothing is', () => {
    const patch = { mode: null, metadata: null, input: null } as const;
    expect(parse(rolloutPatchCodec, overTheWire(rolloutPatchCodec.encode(patch)), 'patch')).toEqual(patch);
    expect(parse(rolloutPatchCodec, {}, 'patch')).toEqual({});
  });
});

describe('spans', () => {
  test('survive the wire', () => {
    const span = aSpan({
      parentId: 'a'.repeat(16),
      attributes: { 'gen_ai.request.model': 'm', prompt_token_ids: [1, 2, 3], isOn: false },
      events: [{ name: 'e', timeMs: null, attributes: { a: 'b' } }],
      links: [{ traceId: 'b'.repeat(32), spanId: 'c'.repeat(16), attributes: {} }],
    });
    expect(spanFromWire(parse(wireSpanSchema, overTheWire(spanToWire(span)), 'span'))).toEqual(span);
  });

  test('without a number, or with the number 0, are to be given one', () => {
    const wire = spanToWire(aSpan());
    expect(spanInputFromWire({ ...wire, sequence_id: 0 })).not.toHaveProperty('sequenceId');
    expect(spanInputFromWire({ ...wire, sequence_id: null })).not.toHaveProperty('sequenceId');
  });

  test('may count their time in nanoseconds', () => {
    const wire = { ...spanToWire(aSpan()), start_time: 1_700_000_000_500_000_000 };
    expect(spanInputFromWire(wire).startTimeMs).toBe(1_700_000_000_500);
  });

  test('with attributes that are no attributes are refused', () => {
    for (const attributes of [{ a: { b: 1 } }, { a: [null] }, [1], 'text']) {
      expect(() => parse(wireSpanSchema, { ...spanToWire(aSpan()), attributes }, 'span')).toThrow('attributes');
    }
  });
});

describe('errors', () => {
  const errors = [
    new NotFoundError('Rollout', 'ro-1'),
    new IllegalTransitionError('Rollout ro-1', 'succeeded', 'running'),
    new ValidationError('Query', [{ path: 'limit', message: 'is bad' }]),
    new AgentLightningError({ code: 'STORE_FULL', message: 'no room', remedy: 'make some', details: { bytes: 3 } }),
  ];
  for (const error of errors) {
    test(`of the kind ${error.code} arrive as what they were`, () => {
      const arrived = errorFromWire(httpStatusOf(error.code), overTheWire(errorToWire(error)));
      expect(arrived).toMatchObject({ message: error.message, remedy: error.remedy, details: error.details });
      expect(arrived).toBeInstanceOf(error.constructor);
    });
  }

  test('of a server that is not ours are told by their status', () => {
    const codes = [400, 401, 403, 404, 409, 413, 422, 502].map((status) => errorFromWire(status, { detail: 'x' }).code);
    expect(codes).toEqual([
      'VALIDATION',
      'UNAUTHENTICATED',
      'PERMISSION_DENIED',
      'NOT_FOUND',
      'CONFLICT',
      'PAYLOAD_TOO_LARGE',
      'VALIDATION',
      'UNREACHABLE',
    ]);
    expect(errorFromWire(500, 'gateway on fire').message).toContain('gateway on fire');
  });

  test('have a status each, and it is that of an error', () => {
    for (const code of Object.keys(errorCatalogue)) {
      expect(httpStatusOf(code as keyof typeof errorCatalogue)).toBeGreaterThanOrEqual(400);
    }
  });
});

test.each([
  [408, 'TIMEOUT'],
  [429, 'RESOURCE_EXHAUSTED'],
])('an answer of somebody in between with status %i is %s, which passes', (status, code) => {
  expect(errorFromWire(status, 'slow down')).toMatchObject({ code });
});
