import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { requiredAttemptTokens, tokensOfStoreFile } from '../src/runtime/attempt-secret.ts';
import { ask, smallTrainer, trainSmall } from './small-trainer.ts';

/** Limit for a test that starts a process, on a machine that may be busy. */
const timeoutMs = 120_000;

test.each([
  ['with a secret', 'a secret of thirty-two bytes or more'],
  ['without a configured secret', undefined],
])(
  '%s model calls require the token of their attempt',
  {
    timeout: timeoutMs,
  },
  async (_, tokenSecret) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'agl-tokens-'));
    const seen = new Map<string, string | null>();
    const refused: number[] = [];
    const trainer = smallTrainer(folder, {
      ...(tokenSecret === undefined ? {} : { gateway: { tokenSecret } }),
      agent: async (task, { attemptId, attemptToken, endpoint }) => {
        seen.set(attemptId, attemptToken);
        refused.push((await fetch(`${endpoint?.baseUrl}/models`)).status);
        return (await ask(task)).length;
      },
    });
    const { error } = await trainSmall(trainer);
    expect(error).toBeNull();
    expect(seen.size).toBeGreaterThan(8);
    expect([...seen.values()].every((token) => token?.startsWith('aglat.'))).toBe(true);
    expect(new Set(seen.values()).size).toBe(seen.size);
    expect(new Set(refused)).toEqual(new Set([401]));
    const store = await openStore(path.join(folder, 'agl.db'));
    const secret = tokenSecret ?? readFileSync(path.join(folder, 'attempt-secret'), 'utf8');
    expect(JSON.stringify((await store.queryRuns()).items)).not.toContain(secret);
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  },
);

test('the secret of a data directory is random, for its owner alone, and the same after a restart', async () => {
  const folders = [mkdtempSync(path.join(tmpdir(), 'agl-tokens-')), mkdtempSync(path.join(tmpdir(), 'agl-tokens-'))];
  const tokensOf = (dataDir = ''): ReturnType<typeof requiredAttemptTokens> =>
    requiredAttemptTokens({ attemptTokens: null, gateway: { url: null }, dataDir, storeUrl: 'http://127.0.0.1:1' });
  const attempt = { rolloutId: 'ro-1', attemptId: 'at-1' };
  const token = (await (await tokensOf(folders[0]))?.create(attempt)) ?? '';
  expect(await (await tokensOf(folders[0]))?.verify(token)).toMatchObject(attempt);
  await expect((await tokensOf(folders[1]))?.verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(statSync(path.join(folders[0] ?? '', 'attempt-secret')).mode & 0o777).toBe(0o600);
  for (const folder of folders) rmSync(folder, { recursive: true });
});

test('a trainer and a separate gateway on one store file share the secret beside the file', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-tokens-'));
  const storeUrl = `sqlite:${path.join(folder, 'agl.db')}`;
  const separate = { attemptTokens: null, gateway: { url: 'http://127.0.0.1:1' }, dataDir: '/nowhere' };
  const attempt = { rolloutId: 'ro-1', attemptId: 'at-1' };
  const [trainer, gateway] = await Promise.all([
    requiredAttemptTokens({ ...separate, storeUrl }),
    tokensOfStoreFile(storeUrl),
  ]);
  expect(await gateway?.verify((await trainer?.create(attempt)) ?? '')).toMatchObject(attempt);
  expect(readdirSync(folder)).toEqual(['attempt-secret']);
  for (const remote of ['http://127.0.0.1:1', 'postgres://127.0.0.1/agl', 'sqlite::memory:', ':memory:']) {
    expect(await requiredAttemptTokens({ ...separate, storeUrl: remote })).toBeNull();
  }
  rmSync(folder, { recursive: true });
});

test('a secret that is too short is a mistake in the configuration', () => {
  expect(() => smallTrainer('nowhere', { gateway: { tokenSecret: 'short' } })).toThrow(
    /CONFIG.*at least 32 bytes, got 5/,
  );
});
