import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../testing/manual-clock.ts';
import { AttemptTokens } from './attempt-token.ts';

const [first, second, third] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [string, string, string];
const attempt = { rolloutId: 'ro-0123456789ab', attemptId: 'at-01234567' };

/** Tokens signed with secrets, at a time that stands still. */
function tokensOf(secrets: readonly string[] = [first], clock = new ManualClock()): AttemptTokens {
  return new AttemptTokens({ secrets, clock });
}

describe('a token', () => {
  test('says which attempt it is for, and what that may do', async () => {
    const ids = fc.record({
      project: fc.constantFrom('default', 'red'),
      rolloutId: fc.string({ unit: 'binary' }),
      attemptId: fc.string({ unit: 'binary' }),
      mayReward: fc.boolean(),
      lifetimeMs: fc.integer({ min: 1, max: 10 ** 10 }),
    });
    const clock = new ManualClock();
    const tokens = tokensOf([first], clock);
    await fc.assert(
      fc.asyncProperty(ids, async ({ lifetimeMs, ...asked }) => {
        const claims = await tokens.verify(await tokens.create({ ...asked, lifetimeMs }));
        const expiresAtMs = Math.ceil((clock.now() + lifetimeMs) / 1000) * 1000;
        expect(claims).toEqual({ ...asked, expiresAtMs });
      }),
    );
  });

  test('may reward, and is good for a day, unless said otherwise', async () => {
    const clock = new ManualClock();
    const tokens = tokensOf([first], clock);
    const claims = await tokens.verify(await tokens.create(attempt));
    expect(claims).toEqual({ project: 'default', ...attempt, mayReward: true, expiresAtMs: clock.now() + 86_400_000 });
  });

  test('fits into a header, and is known for what it is', async () => {
    const token = await tokensOf().create(attempt);
    expect(token).toMatch(/^[\w.-]{1,200}$/);
    expect(AttemptTokens.isAttemptToken(token)).toBe(true);
    expect(AttemptTokens.isAttemptToken('aglk_0123456789')).toBe(false);
  });

  test('is refused with any bit of it flipped', async () => {
    const tokens = tokensOf();
    const token = await tokens.create(attempt);
    const refusals = [...token].flatMap((character, at) =>
      [1, 2, 4, 8, 16, 32, 64].map((bit) => {
        const flipped = String.fromCharCode(character.charCodeAt(0) ^ bit);
        return expect(tokens.verify(token.slice(0, at) + flipped + token.slice(at + 1))).rejects.toMatchObject({
          code: 'UNAUTHENTICATED',
        });
      }),
    );
    await Promise.all(refusals);
    expect(refusals.length).toBeGreaterThan(500);
  });

  test('is refused when it is cut, lengthened or made up', async () => {
    const tokens = tokensOf();
    const token = await tokens.create(attempt);
    const others = fc.oneof(
      fc.string(),
      fc.nat(token.length - 1).map((end) => token.slice(0, end)),
      fc.string({ minLength: 1 }).map((more) => token + more),
      fc.string().map((words) => `${token.split('.').slice(0, 2).join('.')}.${btoa(words)}.${btoa(words)}`),
    );
    await fc.assert(
      fc.asyncProperty(others, async (other) => {
        await expect(tokens.verify(other)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
      }),
    );
  });

  test('is refused from its expiry on, also when it was good before', async () => {
    const clock = new ManualClock();
    const tokens = tokensOf([first], clock);
    const token = await tokens.create({ ...attempt, lifetimeMs: 5000 });
    await clock.advance(4999);
    expect(await tokens.verify(token)).toMatchObject(attempt);
    await clock.advance(1);
    await expect(tokens.verify(token)).rejects.toThrow('at-01234567 has expired');
    await expect(tokensOf([first], clock).verify(token)).rejects.toThrow('has expired');
  });

  test('of many tokens, each is still checked when it has been forgotten', async () => {
    const tokens = tokensOf();
    const token = await tokens.create(attempt);
    await tokens.verify(token);
    for (let other = 0; other < 1100; other += 1) {
      await tokens.verify(await tokens.create({ ...attempt, attemptId: `at-${other}` }));
    }
    expect(await tokens.verify(token)).toMatchObject(attempt);
  });
});

describe('secrets', () => {
  test('sign for those who share them only', async () => {
    const token = await tokensOf([first]).create(attempt);
    expect(await tokensOf([first]).verify(token)).toMatchObject(attempt);
    await expect(tokensOf([second]).verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('can be changed: the first one signs, the others still verify, and one taken away does not', async () => {
    const old = await tokensOf([first]).create(attempt);
    const rotated = tokensOf([second, first]);
    const fresh = await rotated.create(attempt);
    expect(await rotated.verify(old)).toMatchObject(attempt);
    expect(await tokensOf([second]).verify(fresh)).toMatchObject(attempt);
    await expect(tokensOf([third, second]).verify(old)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('are needed, and must be long', () => {
    expect(() => tokensOf([])).toThrow('No secret');
    expect(() => tokensOf(['short'])).toThrow('at least 32 bytes, got 5');
    expect(() => tokensOf([first, 'ä'.repeat(15)])).toThrow('got 30');
    expect(() => tokensOf(['ä'.repeat(16)])).not.toThrow();
  });
});
