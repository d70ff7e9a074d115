import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChangeLog } from './change-log.ts';

interface Item {
  readonly name: number;
  changeIndex: number;
  value: number;
}

describe('a change log', () => {
  it('returns the last change of every item to every reader, for any interruption', async () => {
    const scenario = fc.record({
      changes: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 40 }),
      /** Number of items after which the reader stops and resumes at its position. */
      stops: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 10 }),
      compactAfter: fc.integer({ min: 0, max: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ changes, stops, compactAfter }) => {
        const log = new ChangeLog<Item>();
        const items = Array.from({ length: 5 }, (_, name): Item => ({ name, changeIndex: 0, value: 0 }));
        const seen = new Map<number, number>();
        let place = 0;
        let turn = 0;
        const read = async (count: number): Promise<void> => {
          for (let left = count; left > 0; left -= 1) {
            const item = await firstAfter(log, place);
            if (item === undefined) return;
            expect(item.changeIndex).toBeGreaterThan(place);
            place = item.changeIndex;
            seen.set(item.name, item.value);
          }
        };
        for (const [at, name] of changes.entries()) {
          const item = items[name];
          if (item === undefined) continue;
          item.value = at + 1;
          log.append(item);
          if (at === compactAfter) log.compact(() => true);
          if (at % 3 === 0) await read(stops[turn++ % stops.length] ?? 1);
        }
        await read(changes.length);
        for (const item of items) expect(seen.get(item.name) ?? 0).toBe(item.value);
      }),
    );
  });

  it('wakes a reader that waits, and ends it with the reason it is closed for', async () => {
    const log = new ChangeLog<Item>();
    const reader = log.follow(0, new AbortController().signal);
    const next = reader.next();
    log.append({ name: 1, changeIndex: 0, value: 7 });
    expect((await next).value).toMatchObject({ value: 7 });
    const end = reader.next();
    const reason = new TypeError('closed');
    log.close(reason);
    await expect(end).rejects.toBe(reason);
  });

  it('ends a reader when it is aborted', async () => {
    const log = new ChangeLog<Item>();
    const abort = new AbortController();
    const end = log.follow(0, abort.signal).next();
    abort.abort();
    expect(await end).toEqual({ done: true, value: undefined });
  });
});

/** The first change after a position, if any. */
async function firstAfter(log: ChangeLog<Item>, place: number): Promise<Item | undefined> {
  const abort = new AbortController();
  const next = log.follow(place, abort.signal).next();
  // Existing changes are returned without waiting; aborting ends only a waiting reader.
  setImmediate(() => abort.abort());
  const { done, value } = await next;
  return done === true ? undefined : value;
}
