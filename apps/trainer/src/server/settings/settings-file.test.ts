import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readJobTemplate } from '../../kubernetes/job-template.ts';
import { readSettingsFile } from './settings-file.ts';

test('a file whose aliases expand to too many values is a configuration error', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-settings-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'config.yaml');
  const levels = Array.from({ length: 12 }, (_, level) => {
    const items = level === 0 ? '"x"' : `*a${level - 1}`;
    return `    - &a${level} [${Array(10).fill(items).join(', ')}]`;
  });
  writeFileSync(file, `model:\n  bomb:\n${levels.join('\n')}\n`);
  const error = { code: 'CONFIG', message: expect.stringMatching(/config\.yaml.*alias/i) };
  await expect(readSettingsFile(file)).rejects.toMatchObject(error);
  await expect(readJobTemplate(file)).rejects.toMatchObject(error);
});
