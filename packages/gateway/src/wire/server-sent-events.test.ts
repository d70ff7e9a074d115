import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EventStreamReader, type StreamEntry, writeEntry } from './server-sent-events.ts';

const line = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ''));
const entry: fc.Arbitrary<StreamEntry> = fc.oneof(
  fc.record({
    kind: fc.constant('event' as const),
    event: fc.option(fc.constantFrom('message', 'error'), { nil: undefined }),
    data: fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n')),
  }),
  fc.record({ kind: fc.constant('comment' as const), text: line.map((text) => text.trim()) }),
);

it('written events are parsed again at any chunk boundary', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), fc.array(fc.integer({ min: 1, max: 7 })), (entries, cuts) => {
      const bytes = new TextEncoder().encode(entries.map(writeEntry).join(''));
      const reader = new EventStreamReader();
      const read: StreamEntry[] = [];
      let start = 0;
      for (const cut of [...cuts, bytes.length]) {
        read.push(...reader.read(bytes.subarray(start, start + cut)));
        start += cut;
      }
      expect(read).toEqual(entries);
    }),
  );
});
