import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readProcessFlags } from './process-flags.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'process-flags-'));
const keyFile = path.join(folder, 'runtime.key');
writeFileSync(keyFile, 'secret\n');
afterAll(() => rmSync(folder, { recursive: true }));

test('times are integers in milliseconds, and 0 only where it means unlimited', () => {
  expect(
    readProcessFlags(['--key-file', keyFile, '--session-ttl-ms', '500', '--abandoned-model-ttl-ms', '0']),
  ).toMatchObject({
    apiKey: 'secret',
    sessionTtlMs: 500,
    abandonedModelTtlMs: 0,
  });
  expect(() => readProcessFlags(['--key-file', keyFile, '--session-ttl-ms', '0'])).toThrow('--session-ttl-ms is "0"');
  for (const text of ['-1', '1.5', 'long', '', ' ']) {
    expect(() => readProcessFlags(['--key-file', keyFile, `--abandoned-model-ttl-ms=${text}`])).toThrow(
      '--abandoned-model-ttl-ms is',
    );
  }
});
