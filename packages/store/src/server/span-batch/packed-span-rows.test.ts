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
