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

test('agl eval compares a checkpoint with the base model, for people and for programs', async () => {
  {
    await using training = folder.train('--run', 'trained', '--steps', '2');
    await training.event('done');
  }
  await using json = agl(
    'eval',
    '--of',
    'trained@best',
    '--against',
    'base',
    '--samples',
    '2',
    '--json',
    '--run',
    'one',
  );
  const done = await json.event('done');
  expect(await json.exitCode()).toBe(0);
  expect(done).toMatchObject({
    run: 'one',
    tasks: 12,
    samples: 2,
    decided: true,
    of: { rollouts: 24, missing: 0 },
    against: { subject: 'base', rollouts: 24 },
    comparison: { tasks: 12, missing_share: 0, verdict: expect.any(String) },
  });
  expect(json.events.map(({ event }) => event)).toEqual(['started', 'evaluated', 'evaluated', 'done']);

  await using text = agl('eval', '--of', 'trained@1', '--tasks', tasksFile());
  expect(await text.exitCode()).toBe(0);
  expect(text.output).toMatch(/SUBJECT +REWARD +95% INTERVAL +ROLLOUTS +FAILED +MISSING\ntrained@1 +0\.\d{3} /);

  const runs = await runAgl(['runs', '--store', folder.storeUrl]);
  expect(runs.output).toMatch(/one +small +finished +evaluation +0\.\d{3} +0\.\d{3}/);
});

test('agl dev prints the traces of rollouts with a scripted model, and what is wrong with them', async () => {
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
