import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aSpan } from '../testing/a-span.ts';
import { isWireSpan } from './is-wire-span.ts';
import { spanToWire, wireSpanSchema } from './wire-span.ts';

const context = { trace_id: 't', span_id: 's', is_remote: false, trace_state: { a: 'b' } };
const whole = {
  ...spanToWire(aSpan()),
  attributes: { text: 'x', count: 1, flag: true, list: ['a', 1, false] },
  events: [{ name: 'event', attributes: { a: 1 }, timestamp: 1.5 }],
  links: [{ context, attributes: null }],
  context,
  parent: null,
};

/** Values that some field takes and others do not. */
const values = [
  ...[null, undefined, '', 'OK', 0, -1, 1.5, Number.POSITIVE_INFINITY, true, [], {}],
  ...[[[]], [{}], { a: null }, { a: [[]] }, { a: 1 }, [{ name: 'event' }], [{ name: 1 }], [{ context }]],
  ...[context, { trace_id: 't' }, { ...context, trace_state: { a: 1 } }, { ...context, is_remote: 'no' }],
  ...[{ status_code: 'OK' }, { status_code: 'OK', description: 1 }, { status_code: 'BAD' }],
  ...[{ attributes: {}, schema_url: '' }, { attributes: {} }, [{ name: 'event', timestamp: 'now' }]],
];

test('a whole span passes', () => {
  expect(isWireSpan(whole)).toBe(true);
});

test('says of every span what the schema says of it', () => {
  const changes = fc.dictionary(
    fc.constantFrom(...Object.keys(whole), 'resource', 'more'),
    fc.constantFrom(...values),
    {
      maxKeys: 2,
    },
  );
  fc.assert(
    fc.property(changes, (changed) => {
      const span = { ...whole, ...changed };
      expect(isWireSpan(span)).toBe(wireSpanSchema.safeParse(span).success);
    }),
    { numRuns: 3000 },
  );
});

test.each([null, undefined, 1, 'span', [], [whole]])('%j is no span', (value) => {
  expect(isWireSpan(value)).toBe(false);
  expect(wireSpanSchema.safeParse(value).success).toBe(false);
});
