import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serveDashboard } from '@agentlightning/dashboard';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { RunFolder, waitingConfigFile } from './run-folder.ts';

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

/** Trains with a dashboard until a rollout runs. The result resolves with the last text of the event stream. */
async function trainAndWatch(run: RunFolder): Promise<{ train: AglProcess; url: string; events: Promise<string> }> {
  const flags = ['--run', 'watched', '--steps', '1', '--dashboard', '0'];
  const train = run.trainFile(waitingConfigFile, ...flags);
  const url = String((await train.event('dashboard'))['url']);
  await train.event('started');
  const list = (await (await fetch(`${url}/api/runs`)).json()) as { items: readonly object[] };
  expect(list.items).toMatchObject([{ runId: 'watched', liveness: 'live' }]);
  const response = await fetch(`${url}/api/events`);
  return { train, url, events: response.text() };
}

test('agl train --dashboard shows the run while it trains, and ends with it', async () => {
  using run = new RunFolder();
  vi.stubEnv('GATE', run.gate);
  const { train, url, events } = await trainAndWatch(run);
  expect(train.stderr).toContain(`Dashboard: ${url}`);
  writeFileSync(run.gate, '');
  await train.event('finished');
  expect(await events).toMatch(/event: closing\n.*The training has ended/);
  await train.exitCode();
  expect(train.stderr).toMatch(/Open it again: \S.* dashboard --store \S+/);
  await expect(fetch(url)).rejects.toThrow();
  vi.unstubAllEnvs();
});

test('the dashboard of a killed trainer reports the kill to open pages, and ends', { tags: ['long'] }, async () => {
  using run = new RunFolder();
  vi.stubEnv('GATE', run.gate);
  const { train, url, events } = await trainAndWatch(run);
  await train.kill();
  expect(await events).toMatch(/event: closing\n.*killed.*agl resume/);
  await vi.waitFor(async () => await expect(fetch(url)).rejects.toThrow(), { timeout: 30_000 });
  vi.unstubAllEnvs();
});

test('agl train --dashboard with a port that is taken ends before the training', { tags: ['long'] }, async () => {
  using run = new RunFolder();
  const store = await openStore(run.storeUrl);
  const taken = await serveDashboard({ store });
  await using train = run.trainFile(waitingConfigFile, '--dashboard', String(taken.port));
  expect(await train.exitCode()).toBe(3);
  expect(train.stderr).toContain('[PORT_IN_USE]');
  expect((await store.queryRuns()).total).toBe(0);
  await taken.close();
  await store.close();
});
