import { describe, expect } from 'vitest';
import { AttemptTokens } from '../../protocol/access/attempt-token.ts';
import { attemptTokenDigest } from '../../protocol/access/revoked-attempt-tokens.ts';
import type { StoreTest } from './store-test.ts';

const attempt = { rolloutId: 'ro-1', attemptId: 'at-1' };

/** Revoked attempt tokens. */
export function describeRevocation(test: StoreTest): void {
  describe('revoked attempt tokens', () => {
    test('are listed by their digests until they expire', async ({ store, clock }) => {
      const tokens = new AttemptTokens({ secrets: ['s'.repeat(32)], clock });
      const short = await tokens.create({ ...attempt, lifetimeMs: 10_000 });
      const long = await tokens.create({ ...attempt, lifetimeMs: 60_000 });
      expect(await store.revokedAttemptTokens()).toEqual([]);
      for (const token of [short, long, long]) await store.revokeAttemptToken(token);
      const digests = [await attemptTokenDigest(short), await attemptTokenDigest(long)];
      expect(await store.revokedAttemptTokens()).toEqual(digests.toSorted());
      await clock.advance(20_000);
      expect(await store.revokedAttemptTokens()).toEqual([await attemptTokenDigest(long)]);
      await store.revokeAttemptToken(short);
      expect(await store.revokedAttemptTokens()).toEqual([await attemptTokenDigest(long)]);
    });

    test('have the form of a token', async ({ store }) => {
      for (const text of ['aglat', 'aglat.a.b.c', `aglat.${'a'.repeat(10_000)}.b.c`]) {
        await expect(store.revokeAttemptToken(text)).rejects.toMatchObject({ code: 'VALIDATION' });
      }
      expect(await store.revokedAttemptTokens()).toEqual([]);
    });
  });
}
