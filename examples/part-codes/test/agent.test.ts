import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { Trainer } from '@agentlightning/trainer';
import { expect, test } from 'vitest';
import { demonstrations, parts, question } from '../codes.ts';
import config from '../sdpo.config.ts';

test('only the whole code is rewarded, and the feedback is the right one', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-part-codes-'));
  const [{ code } = { code: '' }] = parts;
  await using model = await ScriptedModel.start(({ messages }) =>
    respondWith(String(messages[0]?.['content']).includes('N') ? code : 'AAAA'),
  );
  const trainer = new Trainer({ ...config, run: { ...config.run, dataDir: folder } });
  const { rollouts } = await trainer.dev({ endpoint: { baseUrl: model.baseUrl, model: 'any' } });
  expect(rollouts.map(({ reward }) => reward)).toEqual([1, 0]);
  rmSync(folder, { recursive: true });
});

test('demonstrations show how feedback is read, and not the codes that are learned', () => {
  const shown = demonstrations(6400);
  const codes = new Set(shown.map(({ code }) => code));
  expect(parts.filter(({ code }) => codes.has(code))).toEqual([]);
  expect(shown.filter(({ prompt }) => prompt.includes('Feedback')).length).toBe(4800);
  expect(shown[0]?.prompt).toBe(question('N'));
});
