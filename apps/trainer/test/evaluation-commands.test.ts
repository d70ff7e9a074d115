import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { RunFolder, smallConfigFile } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

function agl(command: string, ...flags: string[]): AglProcess {
  return new AglProcess([command, smallConfigFile, '--data-dir', folder.path, ...flags]);
}

test('agl eval prints a table with the comparison, and is a run of the store', async () => {
  await using text = agl('eval', '--of', 'base', '--against', 'base', '--tasks', tasksFile(), '--run', 'one');
  expect(await text.exitCode()).toBe(0);
  expect(text.output).toMatch(/SUBJECT +REWARD +95% INTERVAL +ROLLOUTS +FAILED +MISSING\nbase +0\.\d{3} /);
  expect(text.output).toMatch(/base minus base: \+0\.000 \(95% .* over 2 tasks; p = 1\.0000\): no difference shown/);
  const runs = await runAgl(['runs', '--store', folder.storeUrl]);
  expect(runs.output).toMatch(/one +small +finished +evaluation +0\.\d{3} +0\.\d{3}/);
});

test('agl dev prints the traces of rollouts with a scripted model, and what is wrong with them', {
  tags: ['long'],
}, async () => {
  const script = path.join(folder.path, 'answers.json');
  writeFileSync(script, JSON.stringify(['12', 'one 2', { status: 400, message: 'no more' }]));
  await using dev = agl('dev', '--script', script);
  expect(await dev.exitCode()).toBe(1);
  expect(dev.output).toMatch(/ro-\w+ {2}succeeded[\s\S]*user +How many 0\?\nassistant 12\nreward 1\n/);
  expect(dev.output).toMatch(/assistant one 2\nreward 0\.2\n/);
  expect(dev.output).toMatch(/1 problem:\n {2}- ro-\w+: the rollout failed: .*400/);

  writeFileSync(script, JSON.stringify(['7']));
  await using one = agl('dev', '--script', script, '--task', '{"question":"How few?"}', '--json');
  expect(await one.exitCode()).toBe(0);
  expect(await one.event('rollout')).toMatchObject({ status: 'succeeded', reward: 1, problems: [] });
});

function tasksFile(): string {
  const file = path.join(folder.path, 'hard.jsonl');
  writeFileSync(file, '{"question":"How hard 1?"}\n{"question":"How hard 2?"}\n');
  return file;
}
