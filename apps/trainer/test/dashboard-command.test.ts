import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';

/** Each test starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-dashboard-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('agl dashboard prints its address and serves the runs of the store with explained warnings', async () => {
  const db = `sqlite:${path.join(folder, 'agl.db')}`;
  const store = await openStore(db);
  await store.createRun({ runId: 'run-1', name: 'first', config: {} });
  const warning = { name: 'constant-groups', step: 1, policy: null, message: 'all groups are constant' };
  await store.updateRun('run-1', { state: { finishedStep: 1, warnings: [warning] } });
  await store.close();
  await using dashboard = new AglProcess(['dashboard', '--store', db, '--port', '0']);
  const url = String((await dashboard.event('ready'))['url']);
  expect(dashboard.stderr).toContain(url);
  const run = (await (await fetch(`${url}/api/runs/run-1`)).json()) as { runWarnings: readonly object[] };
  expect(run.runWarnings).toMatchObject([{ ...warning, remedy: expect.stringContaining('groupSize') }]);
});

test('agl dashboard needs a store that exists, and a key for other machines', async () => {
  const missing = await runAgl(['dashboard', '--store', `sqlite:${path.join(folder, 'none.db')}`]);
  expect(missing.code).toBe(2);
  expect(missing.stderr).toContain('there is no store');
  const db = `sqlite:${path.join(folder, 'agl.db')}`;
  await (await openStore(db)).close();
  const open = await runAgl(['dashboard', '--store', db, '--port', '0', '--host', '0.0.0.0']);
  expect(open.code).toBe(2);
  expect(open.stderr).toContain('AGL_DASHBOARD_KEY');
});
