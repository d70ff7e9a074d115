import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { pruneHint } from './prune-hint.ts';

test('a large store is reported with the commands that free disk space', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-room-'));
  const file = path.join(folder, 'agl.db');
  writeFileSync(file, 'x'.repeat(2000));
  try {
    expect(await pruneHint(`sqlite:${file}`, 'agl', 1000)).toBe(
      `The store has 2.0 kB. \`agl store prune --keep-runs 10 --store sqlite:${file}\` deletes older runs with their checkpoints, \`agl store vacuum --store sqlite:${file}\` then returns the space to the disk.`,
    );
    expect(await pruneHint(`sqlite:${file}`, 'agl')).toBeNull();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each(['sqlite::memory:', 'http://store:4747', 'sqlite:/nowhere/agl.db'])('%s is not looked at', async (url) => {
  expect(await pruneHint(url, 'agl', 1)).toBeNull();
});
