import type { JsonValue } from '@agentlightning/core';
import { maxSequenceId } from '@agentlightning/core/protocol';
import { aSpan } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeText, encodeText } from '../src/drivers/postgres-dialect.ts';
import { openStore } from '../src/index.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

/** Any text of JavaScript, with what PostgreSQL cannot hold more often than by chance. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('a', '\0', '\u0010', '\ud800', '\udc00', '😀', '0000', '\\u0000', '"', '?', '$1'))
    .map((parts) => parts.join('')),
);

const anyJson = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);

test('every text can be encoded for PostgreSQL and decoded again', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const encoded = encodeText(text);
      expect(encoded).not.toMatch(/\0|\p{Surrogate}/u);
      expect(decodeText(encoded)).toBe(text);
    }),
  );
});

describePostgres('PostgreSQL', () => {
  test('returns every value as written', async () => {
    await using database = await createTestDatabase();
    const store = await openStore(database.url);
    const time = fc.double({ min: 0, max: 4e12, noNaN: true });
    const values = fc.record({
      text: anyText,
      json: anyJson,
      time,
      number: fc.integer({ min: 0, max: maxSequenceId }),
    });
    await fc.assert(
      fc.asyncProperty(values, async ({ text, json, time, number }) => {
        const input = { text, json };
        const { rolloutId, attempt } = await store.startRollout({
          input,
          metadata: { text, json },
        });
        expect(await store.getRollout(rolloutId)).toMatchObject({
          input,
          metadata: input,
        });
        const { attemptId } = attempt;
        const span = {
          ...aSpan({ rolloutId, attemptId, name: text, startTimeMs: time, sequenceId: number }),
          attributes: { text },
        };
        await store.appendSpans([span]);
        expect((await store.querySpans({ rolloutId, nameContains: text })).items).toEqual([span]);
      }),
      { numRuns: 60 },
    );
    await store.close();
  });

  test('finds metadata by any value', async () => {
    await using database = await createTestDatabase();
    const store = await openStore(database.url);
    await fc.assert(
      fc.asyncProperty(anyText, anyJson, async (name, value) => {
        const metadata = { [`name ${name}`]: value };
        const [rollout] = await store.enqueueRollouts([{ input: 1, metadata }]);
        const { items } = await store.queryRollouts({ metadata });
        expect(items.map(({ rolloutId }) => rolloutId)).toContain(rollout?.rolloutId);
      }),
      { numRuns: 60 },
    );
    const [none] = await store.enqueueRollouts([{ input: 1, metadata: { a: null } }]);
    expect((await store.queryRollouts({ metadata: { b: null } })).items).toEqual([]);
    expect((await store.queryRollouts({ metadata: { a: null } })).items).toEqual([none]);
    await store.close();
  });
});
