import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { migratedConfig } from '../output/project-output.ts';
import { migrateConfig } from './migrate-config.ts';

let folder = '';
let printed = '';

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-migrate-'));
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

test('a dry run prints the new file, and another run writes it and lists what was renamed', async () => {
  const file = path.join(folder, 'agl.config.ts');
  const source = 'export default defineConfig({ workers: 2 });\n';
  const current = 'export default defineConfig({ agents: { processes: 2 } });\n';
  writeFileSync(file, source);
  await migrateConfig(file, { dryRun: true });
  expect([printed, readFileSync(file, 'utf8')]).toEqual([current, source]);
  printed = '';
  await migrateConfig(file, { json: true });
  expect(migratedConfig.parse(JSON.parse(printed))).toEqual({
    file,
    renamed: ['1: workers → agents.processes'],
    written: true,
  });
  expect(readFileSync(file, 'utf8')).toBe(current);
});

test('a file that cannot be read is named', async () => {
  await expect(migrateConfig(path.join(folder, 'none.ts'), {})).rejects.toMatchObject({ code: 'CONFIG' });
});
