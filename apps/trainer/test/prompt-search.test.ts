import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Trainer, type TrainingEvent } from '../src/index.ts';
import { PlantedModels, plantedKey } from './planted-models.ts';
import { plantedConfig, worthOf } from './planted-search.ts';

vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-prompts-'));
  vi.stubEnv('PLANTED_KEY', plantedKey);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

test('finds the planted prompt', async () => {
  await using models = await PlantedModels.start();
  const events: TrainingEvent[] = [];
  const trainer = new Trainer({ ...plantedConfig(models.baseUrl), dataDir: folder });
  const summary = await trainer.train({ onEvent: (event) => events.push(event) });
  const { versions = [], best, file = '' } = summary.prompts ?? {};
  const found = versions.find(({ version }) => version === best);
  expect(worthOf(found?.prompts['doing']?.template)).toBe(1);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ best, measured_on: 'validation' });
});
