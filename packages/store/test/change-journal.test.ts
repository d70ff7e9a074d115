import type { StoreChange } from '@agentlightning/core/store';
import { expect, test } from 'vitest';
import type { StoreChangeListener } from '../src/changes/change-feed.ts';
import { ChangeJournal, type JournalEntry, type JournalReading } from '../src/changes/change-journal.ts';

interface Fixture {
  readonly journal: ChangeJournal;
  readonly publish: (...versions: number[]) => void;
  readonly read: (reading?: JournalReading) => AsyncGenerator<JournalEntry>;
}

function aJournal(capacity = 4): Fixture {
  const listeners = new Set<StoreChangeListener>();
  const journal = new ChangeJournal({
    capacity,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    findRunId: async () => null,
  });
  const publish = (...versions: number[]): void => {
    for (const listener of listeners) listener(versions.map(aChange));
  };
  return { journal, publish, read: (reading = {}) => journal.read(reading) };
}

function aChange(version: number): StoreChange {
  return { kind: 'resources', resourcesId: 'rs-1', version };
}

async function next(entries: AsyncGenerator<JournalEntry>): Promise<JournalEntry> {
  const { value } = await entries.next();
  if (value === undefined) throw new TypeError('the journal ended');
  return value;
}

test('a reader resumes after the last change that it read', async () => {
  const { publish, read } = aJournal();
  const first = read();
  await next(first);
  publish(1, 2);
  const { id } = await next(first);
  await first.return(undefined);
  const second = read({ after: id });
  publish(3);
  expect([(await next(second)).change, (await next(second)).change]).toEqual([aChange(2), aChange(3)]);
});

test('a reader that falls behind receives unknown and continues with new changes', async () => {
  const { publish, read } = aJournal(4);
  const entries = read();
  await next(entries);
  for (let version = 1; version <= 20; version += 1) publish(version);
  expect((await next(entries)).change).toEqual({ kind: 'unknown' });
  publish(21);
  expect((await next(entries)).change).toEqual(aChange(21));
});

test.each(['nonsense', 'other-journal-3', '', '-', 'x-99999999999999999999'])(
  'a reader that resumes with a foreign id (%s) receives unknown',
  async (after) => {
    const { publish, read } = aJournal();
    await next(read());
    publish(1, 2, 3);
    expect((await next(read({ after }))).change).toEqual({ kind: 'unknown' });
  },
);

test('a reader that resumes with a future id receives unknown', async () => {
  const { publish, read } = aJournal();
  const { id } = await next(read());
  publish(1);
  const later = id.replace(/\d+$/, '7');
  expect((await next(read({ after: later }))).change).toEqual({ kind: 'unknown' });
});

test('readers do not wait for each other', async () => {
  const { publish, read } = aJournal();
  const [slow, fast] = [read(), read()];
  await next(slow);
  await next(fast);
  publish(1);
  expect((await next(fast)).change).toEqual(aChange(1));
  publish(2);
  expect((await next(fast)).change).toEqual(aChange(2));
  expect((await next(slow)).change).toEqual(aChange(1));
});
