import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SpanRow } from '../../span-row.ts';
import { packSpanRows, unpackSpanRows } from './packed-span-rows.ts';

const text = fc.string({ unit: 'binary' });
const fewTexts = fc.oneof(fc.constantFrom('ro-1', 'ro-2', ''), text);
const time = fc.option(fc.double({ noNaN: true }), { nil: null });
const row: fc.Arbitrary<SpanRow> = fc.tuple(
  fewTexts,
  fewTexts,
  text,
  fc.option(fc.maxSafeNat(), { nil: null }),
  fewTexts,
  fc.option(fewTexts, { nil: null }),
  fewTexts,
  time,
  time,
  text,
);

test('rows come out as they went in, through a copy as threads make it', () => {
  fc.assert(
    fc.property(fc.array(row), (rows) => {
      expect(unpackSpanRows(structuredClone(packSpanRows(rows)))).toEqual(rows);
    }),
  );
});

test('rows with more text than goes into one piece come out as they went in', () => {
  const long = fc.tuple(row, fc.constantFrom(0, 10_000, 47_999, 48_000, 100_000));
  fc.assert(
    fc.property(fc.array(long), (list) => {
      const rows = list.map(([[...values], length]): SpanRow => {
        values[9] = `${'x'.repeat(length)}${values[9]}`;
        return values;
      });
      expect(unpackSpanRows(structuredClone(packSpanRows(rows)))).toEqual(rows);
    }),
  );
});
