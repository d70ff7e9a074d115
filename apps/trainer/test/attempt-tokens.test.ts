import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { ask, smallTrainer, trainSmall } from './small-trainer.ts';

/** It starts a process of its own, on a machine that may be busy. */
const timeoutMs = 120_000;

test('with a secret each agent has a key of its own, and only with that it calls models', {
  timeout: timeoutMs,
}, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-tokens-'));
  const tokenSecret = 'a secret of thirty-two bytes or more';
  const seen = new Map<string, string | null>();
  const refused: number[] = [];
  const trainer = smallTrainer(folder, {
    tokenSecret,
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
  expect(JSON.stringify((await store.queryRuns()).items)).not.toContain(tokenSecret);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a secret that is too short is a mistake in the configuration', () => {
  expect(() => smallTrainer('nowhere', { tokenSecret: 'short' })).toThrow(/CONFIG.*has 5 bytes, and needs 32/);
});
