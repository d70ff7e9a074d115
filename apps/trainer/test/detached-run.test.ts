import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { initialRunState, writeState } from '../src/run/run-state.ts';
import { AglProcess } from './agl-process.ts';
import { RunFolder, smallConfigFile, smallSteps, waitingConfigFile } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
  vi.stubEnv('GATE', folder.gate);
});
afterEach(() => {
  folder[Symbol.dispose]();
  vi.unstubAllEnvs();
});

test('a run in the background is stopped by its id, and resumed', { tags: ['long'] }, async () => {
  await using detach = folder.trainFile(waitingConfigFile, '--run', 'background', '--steps', '1', '--detach');
  const code = await detach.exitCode();
  expect({ code, stderr: detach.stderr }).toMatchObject({ code: 0 });
  const { pid, log, runId } = await detach.event('detached');
  expect(runId).toBe('background');
  expect(readFileSync(String(log), 'utf8')).toContain('{"type":"started","runId":"background"');
  process.kill(Number(pid), 0);
  const stop = async (): Promise<unknown> => {
    await using command = new AglProcess(['stop', 'background', '--store', folder.storeUrl, '--json']);
    expect({ code: await command.exitCode(), stderr: command.stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(command.output);
  };
  expect(await stop()).toEqual({ type: 'stopped', runId: 'background', status: 'stopped', wasRunning: true });
  await vi.waitFor(() => expect(() => process.kill(Number(pid), 0)).toThrow(/ESRCH/), { timeout: 30_000 });
  expect(await stop()).toMatchObject({ status: 'stopped', wasRunning: false });
  writeFileSync(folder.gate, '');
  const flags = ['--json', '--data-dir', folder.path, '--steps', '1'];
  await using resumed = new AglProcess(['resume', 'background', waitingConfigFile, ...flags]);
  expect(await resumed.event('finished')).toMatchObject({ summary: { runId: 'background' } });
});

test('a complete run is resumed in the background and reports it in its log', async () => {
  const state = { ...initialRunState({ steps: smallSteps, seed: 1, dataDir: folder.path }), finishedStep: smallSteps };
  await folder.withStore(async (store) => {
    await store.createRun({ runId: 'complete', name: 'small', config: {} });
    await store.updateRun('complete', { status: 'finished', state: writeState(state) });
  });
  await using detach = folder.trainFile(smallConfigFile, '--resume', 'complete', '--detach');
  const code = await detach.exitCode();
  expect({ code, stderr: detach.stderr }).toEqual({ code: 0, stderr: '' });
  const { log, runId } = await detach.event('detached');
  expect([runId, log]).toEqual(['complete', path.join(folder.path, 'logs/complete.log')]);
  expect(readFileSync(String(log), 'utf8')).toContain('{"type":"nothing-left","runId":"complete"');
});

test('a run in the background that cannot start reports why', async () => {
  await using detach = folder.trainFile(waitingConfigFile, '--resume', 'unknown', '--detach');
  expect(await detach.exitCode()).toBe(2);
  expect(detach.stderr).toContain('[NOT_FOUND]');
  expect(existsSync(path.join(folder.path, 'logs/unknown.log'))).toBe(true);
});
