// @module-tag long
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';
import { RunFolder } from './run-folder.ts';

vi.setConfig({ testTimeout: 120_000 });

const blockingConfig = path.resolve(import.meta.dirname, 'fixtures/blocking.config.ts');

test('an agent that never yields in the process of the trainer ends it, and the error names the rollout and the command that resumes the run', async () => {
  using folder = new RunFolder();
  const marker = path.join(folder.path, 'blocked');
  const train = (...flags: string[]): AglProcess =>
    new AglProcess(['train', blockingConfig, '--json', '--in-process', '--data-dir', folder.path, ...flags], {
      env: { BLOCK_MARKER: marker },
    });
  await using blocked = train('--run', 'blocked-run');
  expect(await blocked.exitCode()).toBe(4);
  const rolloutId = readFileSync(marker, 'utf8');
  expect(blocked.stderr).toContain(`Rollout ${rolloutId}, task {"question":"How much 5?"} blocks the event loop`);
  expect(blocked.stderr).toContain('countForever');
  expect(blocked.stderr).toContain('--resume blocked-run');
  expect(blocked.stderr).not.toContain('debugger');
  expect(blocked.events.at(-1)).toMatchObject({ type: 'failed', code: 'TIMEOUT', runId: 'blocked-run' });
  await using resumed = train('--resume', 'blocked-run');
  expect(await resumed.event('evaluated')).toMatchObject({
    phase: 'before',
    summary: { rollouts: 12, failed: 0, missing: 0 },
  });
  await resumed.event('finished');
});
