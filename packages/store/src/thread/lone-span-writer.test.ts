import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type SpanInput, systemClock } from '@agentlightning/core';
import { aSpan } from '@agentlightning/core/testing';
import { assert, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { openStore } from '../open-store.ts';
import { spanRow } from '../span-row.ts';
import type { SqlStore } from '../sql-store.ts';
import { LoneSpanWriter, type LoneSpanWriterOptions } from './lone-span-writer.ts';

interface Opened extends AsyncDisposable {
  readonly file: string;
  /** What the other thread would have. */
  readonly store: SqlStore;
  readonly writer: LoneSpanWriter;
  /** A span of an attempt that is under way. */
  readonly span: (fields?: Partial<SpanInput>) => SpanInput;
}

async function open(options: Partial<LoneSpanWriterOptions> = {}): Promise<Opened> {
  const folder = await temporaryFolder();
  const file = join(folder.path, 'agl.db');
  const store = await openStore(file);
  const limits = { durability: 'process', maxSizeBytes: null } as const;
  const writer = LoneSpanWriter.open({ path: file, clock: systemClock, ...limits, ...options });
  assert(writer !== null);
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  return {
    file,
    store,
    writer,
    span: (fields) => {
      const { sequenceId: _given, ...span } = aSpan({ rolloutId, attemptId: attempt.attemptId });
      return { ...span, ...fields };
    },
    [Symbol.asyncDispose]: async () => {
      await writer.close();
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('spans that are written in turns with the store are numbered on, each of them once', async () => {
  await using opened = await open();
  const { store, writer, span } = opened;
  const spans = Array.from({ length: 6 }, () => span());
  const numbers: unknown[] = [];
  for (const [index, each] of spans.entries()) {
    const written = index % 3 === 2 ? await store.appendSpans([each]) : [await writer.write(spanRow(each))];
    numbers.push(written[0]?.sequenceId);
  }
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6]);
  for (const each of spans) expect(await writer.write(spanRow(each))).toMatchObject({ sequenceId: null, changes: [] });
  const { items } = await store.querySpans({ rolloutId: span().rolloutId });
  expect(items).toEqual(spans.map((each, index) => ({ ...each, sequenceId: index + 1 })));
});

test('it says what a span has changed, and about how much it has written', async () => {
  await using opened = await open();
  const { writer, span, store } = opened;
  const { rolloutId, attemptId } = span();
  const first = await writer.write(spanRow(span({ attributes: { text: 'x'.repeat(5000) } })));
  const kinds = first?.changes.map(({ kind }) => kind);
  expect(kinds?.toSorted()).toEqual(['attempt', 'rollout', 'spans']);
  expect(first?.bytes).toBeGreaterThan(5000);
  expect(await store.getRollout(rolloutId)).toMatchObject({ status: 'running' });
  const second = await writer.write(spanRow(span()));
  expect(second?.changes).toEqual([{ kind: 'spans', rolloutId, attemptId, count: 1, lastSequenceId: 2 }]);
  expect(second?.bytes).toBeLessThan(5000);
});

test.each<[what: string, fields: Partial<SpanInput>]>([
  ['of a rollout that there is not', { rolloutId: 'ro-unknown' }],
  ['of an attempt that there is not', { attemptId: 'at-unknown' }],
  ['that is very long', { attributes: { text: 'x'.repeat(200_000) } }],
])('a span %s is left to the other thread, and the next one is written', async (_what, fields) => {
  await using opened = await open();
  const { writer, span, store } = opened;
  expect(await writer.write(spanRow(span(fields)))).toBeUndefined();
  expect(await writer.write(spanRow(span()))).toMatchObject({ sequenceId: 1 });
  expect(await store.statistics()).toMatchObject({ totalSpans: 1 });
});

test('it waits for nobody: while another connection writes, spans are left to the other thread', async () => {
  await using opened = await open();
  const { file, writer, span } = opened;
  const other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  // At once, so that the span keeps its place among those that come with it.
  expect(writer.write(spanRow(span()))).toBeUndefined();
  expect(writer.isWriting).toBe(false);
  other.exec('ROLLBACK');
  other.close();
  expect(await writer.write(spanRow(span()))).toMatchObject({ sequenceId: 1 });
});

test('what does not fit into the file any more is left to the other thread, which says so', async () => {
  await using opened = await open({ maxSizeBytes: 1 });
  const { store, writer, span } = opened;
  const long = (): SpanInput => span({ attributes: { text: 'x'.repeat(50_000) } });
  expect(await writer.write(spanRow(long()))).toBeUndefined();
  expect(await store.appendSpans([long()])).toMatchObject([{ sequenceId: 1 }]);
});

test('now and then one is left to the other thread, which looks after the log', async () => {
  await using opened = await open();
  const { writer, span } = opened;
  const left: number[] = [];
  for (let number = 1; number <= 200; number += 1) {
    if ((await writer.write(spanRow(span()))) === undefined) left.push(number);
  }
  expect(left).toEqual([64, 128, 192]);
});

test('spans come alone while there are few of them, and none is under way', async () => {
  await using opened = await open();
  const { writer, span } = opened;
  let nowMs = 1000;
  const arrive = (gapMs: number, count = 1): boolean => {
    nowMs += gapMs;
    return writer.noteArrival(count, nowMs);
  };
  expect(arrive(2)).toBe(true);
  expect(arrive(2, 2)).toBe(false);
  const write = writer.write(spanRow(span()));
  expect(arrive(2)).toBe(false);
  expect(writer.isWriting).toBe(true);
  await write;
  expect(writer.isWriting).toBe(false);
  expect(arrive(0.1)).toBe(true);
  for (let arrival = 0; arrival < 100; arrival += 1) arrive(0.5);
  expect(arrive(0.5)).toBe(false);
  // Pauses in the middle of much work are none, however long.
  expect(arrive(1000)).toBe(false);
  for (let arrival = 0; arrival < 10; arrival += 1) arrive(2);
  expect(arrive(2)).toBe(true);
  await writer.close();
  expect(arrive(2)).toBe(false);
});

test('closing lets what is under way be written', async () => {
  await using opened = await open();
  const { store, writer, span } = opened;
  const write = writer.write(spanRow(span()));
  await writer.close();
  expect(await write).toMatchObject({ sequenceId: 1 });
  expect(await store.statistics()).toMatchObject({ totalSpans: 1 });
});

test('there is none for a store in memory, one that syncs the disk for every write, and none', async () => {
  await using folder = await temporaryFolder();
  const options = { clock: systemClock, maxSizeBytes: null };
  for (const [path, durability] of [
    [':memory:', 'process'],
    [join(folder.path, 'agl.db'), 'power'],
    [folder.path, 'process'],
  ] as const) {
    expect(LoneSpanWriter.open({ ...options, path, durability })).toBeNull();
  }
});
