import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AgentLightningError,
  IllegalTransitionError,
  NotFoundError,
  ValidationError,
} from '../base/agent-lightning-error.ts';
import { defaultRemedies, type ErrorCode } from '../base/error-catalogue.ts';
import { parse } from '../base/parse.ts';
import { anAttemptedRollout } from '../testing/a-rollout.ts';
import { aSpan } from '../testing/a-span.ts';
import { errorCodec, errorFromWire, httpStatusOf } from './wire/wire-error.ts';
import { msFromSeconds, secondsFromMs } from './wire/wire-fields.ts';
import { rolloutCodec } from './wire/wire-rollout.ts';
import { rolloutPatchCodec } from './wire/wire-rollout-request.ts';
import { recordedSpanCodec, spanInputCodec } from './wire/wire-span.ts';

/** A JSON round trip, as over a network. */
function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe('times', () => {
  test('of this century have microsecond precision', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000_000_000 }), (microseconds) => {
        const timeMs = microseconds / 1000;
        expect(msFromSeconds(secondsFromMs(timeMs))).toBe(timeMs);
      }),
    );
  });
});

describe('rollouts', () => {
  test('survive a round trip', () => {
    const rollout = anAttemptedRollout({
      input: { camelCase: 1, snake_case: [null] },
      config: { timeoutMs: 1500, unresponsiveMs: null, maxAttempts: 3, retryCondition: ['timeout'] },
      endTimeMs: 1_700_000_000_123.456,
    });
    expect(parse(rolloutCodec, overTheWire(rolloutCodec.encode(rollout)), 'rollout')).toEqual(rollout);
  });

  test('of the Python server decode without extension fields', () => {
    const wire = { rollout_id: 'ro-1', input: 'x', start_time: 1.5, status: 'queuing', config: {} };
    expect(parse(rolloutCodec, wire, 'rollout')).toMatchObject({
      runId: null,
      startTimeMs: 1500,
      config: { maxAttempts: 1, retryCondition: [] },
    });
  });

  test('set null fields and leave absent fields unchanged', () => {
    const patch = { mode: null, metadata: null, input: null } as const;
    expect(parse(rolloutPatchCodec, overTheWire(rolloutPatchCodec.encode(patch)), 'patch')).toEqual(patch);
    expect(parse(rolloutPatchCodec, {}, 'patch')).toEqual({});
  });
});

describe('spans', () => {
  test('survive a round trip', () => {
    const span = aSpan({
      parentId: 'a'.repeat(16),
      attributes: { 'gen_ai.request.model': 'm', prompt_token_ids: [1, 2, 3], isOn: false },
      events: [{ name: 'e', timeMs: null, attributes: { a: 'b' } }],
      links: [{ traceId: 'b'.repeat(32), spanId: 'c'.repeat(16), attributes: {} }],
    });
    expect(parse(recordedSpanCodec, overTheWire(recordedSpanCodec.encode(span)), 'span')).toEqual(span);
  });

  test('with an absent sequence id are numbered by the store, and one of 0 is kept', () => {
    const wire = spanInputCodec.encode(aSpan());
    expect(spanInputCodec.parse({ ...wire, sequence_id: 0 })).toMatchObject({ sequenceId: 0 });
    expect(spanInputCodec.parse({ ...wire, sequence_id: null })).not.toHaveProperty('sequenceId');
  });

  test('accept times in nanoseconds', () => {
    const wire = { ...spanInputCodec.encode(aSpan()), start_time: 1_700_000_000_500_000_000 };
    expect(spanInputCodec.parse(wire).startTimeMs).toBe(1_700_000_000_500);
  });

  test('with invalid attributes are rejected', () => {
    for (const attributes of [{ a: { b: 1 } }, { a: [null] }, [1], 'text']) {
      expect(() => parse(spanInputCodec, { ...spanInputCodec.encode(aSpan()), attributes }, 'span')).toThrow(
        'attributes',
      );
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
    test(`with code ${error.code} survive a round trip`, () => {
      const arrived = errorFromWire(httpStatusOf(error.code), overTheWire(errorCodec.encode(error)));
      expect(arrived).toMatchObject({ message: error.message, remedy: error.remedy, details: error.details });
      expect(arrived).toBeInstanceOf(error.constructor);
    });
  }

  test('of a foreign server are classified by status', () => {
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

  test('each have an HTTP error status', () => {
    for (const code of Object.keys(defaultRemedies)) {
      expect(httpStatusOf(code as ErrorCode)).toBeGreaterThanOrEqual(400);
    }
  });
});

test.each([
  [408, 'TIMEOUT'],
  [429, 'RESOURCE_EXHAUSTED'],
])('a response of an intermediary with status %i is the transient %s', (status, code) => {
  expect(errorFromWire(status, 'slow down')).toMatchObject({ code });
});
