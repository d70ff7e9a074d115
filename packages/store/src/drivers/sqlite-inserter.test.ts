import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SqliteDriver } from './sqlite.ts';

test('inserts any number of rows of any length and skips existing keys', async () => {
  const driver = await SqliteDriver.open({
    path: ':memory:',
    durability: 'process',
    busyTimeoutMs: 1000,
    outsidePollMs: 1000,
    maxSizeBytes: null,
  });
  const notes = { table: 'notes', columns: { id: 'integer', body: 'text' }, unlessKnown: ['id'] } as const;
  await driver.write((db) => db.run('CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)'));
  const counts = fc.oneof(fc.nat({ max: 1100 }), fc.constantFrom(1, 15, 16, 17, 249, 250, 251, 266, 500, 516));
  await fc.assert(
    fc.asyncProperty(counts, counts, fc.constantFrom(1, 500, 5000), async (known, count, length) => {
      const rowsTo = (end: number): [number, string | null][] =>
        Array.from({ length: end }, (_, id) => [id, id % 7 === 0 ? null : String(id).padStart(length, 'x')]);
      const insert = (rows: readonly (readonly [number, string | null])[]): Promise<void> =>
        driver.write((db) => db.insert(notes, rows));
      await driver.write((db) => db.run('DELETE FROM notes'));
      await insert(rowsTo(known));
      await insert(rowsTo(count));
      const rows = await driver.read((db) => db.all('SELECT id, body FROM notes ORDER BY id'));
      expect(rows.map(({ id, body }) => [id, body])).toEqual(rowsTo(Math.max(known, count)));
    }),
    { numRuns: 40 },
  );
  await driver.close();
});
