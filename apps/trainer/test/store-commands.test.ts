import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type EndedCommand, runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'agl-store-cli-')));
  const store = await openStore(path.join(folder, '.agl/agl.db'));
  await store.createRun({ runId: 'run-1', name: 'first', config: {} });
  const [rollout] = await store.enqueueRollouts([
    { rolloutId: 'ro-1', runId: 'run-1', mode: 'train', input: { question: 'What is 6 times 7?' } },
    { rolloutId: 'ro-2', runId: 'run-1', mode: 'test', input: 2 },
    { rolloutId: 'ro-3', input: 3 },
  ]);
  await store.claimRollouts();
  await store.updateAttempt(rollout?.rolloutId ?? '', 'latest', { status: 'succeeded' });
  await store.updateRollout('ro-2', { status: 'cancelled' });
  await store.updateRun('run-1', { status: 'finished' });
  await store.close();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function agl(...args: string[]): Promise<EndedCommand> {
  return runAgl(args, { cwd: folder });
}

async function aglJson(...args: string[]): Promise<unknown> {
  const { code, output, stderr } = await agl(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(output);
}

test('rollouts are listed of a run and by status, with how many there are', async () => {
  const all = await agl('rollouts', '--run', 'run-1');
  expect(all.output).toContain('run-1: 2 rollouts in 1 attempt (1 succeeded, 1 cancelled)');
  expect(all.output).toMatch(/ro-1 +succeeded +train +- +1 .*What is 6 times 7/);
  expect(all.output).not.toContain('ro-3');
  expect(await aglJson('rollouts', '--status', 'queuing')).toMatchObject({ rollout: 'ro-3', run: null, attempts: 0 });
  const cut = await agl('rollouts', '--limit', '1');
  expect(cut.output).toContain('2 more; --limit 3 shows all.');
});

test('finished rollouts without a reward are listed, which `missing-rewards` names', async () => {
  const listed = await agl('rollouts', '--run', 'run-1', '--without-reward');
  expect(listed.output).toMatch(/ro-2 +cancelled[\s\S]*ro-1 +succeeded/);
  expect((await agl('rollouts', '--without-reward')).output).not.toContain('ro-3');
});

test('a bad status or an unknown run is named', async () => {
  const status = await agl('rollouts', '--status', 'done');
  expect(status).toMatchObject({ code: 2, stderr: expect.stringMatching(/'done' is invalid.*succeeded/) });
  expect(await agl('rollouts', '--run', 'run-9')).toMatchObject({ code: 2, stderr: expect.stringContaining('run-9') });
});

test('a store is backed up, and restored only by force', async () => {
  expect(await aglJson('store', 'backup', 'copy.db')).toMatchObject({ file: path.join(folder, 'copy.db') });
  expect(await agl('store', 'backup', 'copy.db')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--force'),
  });
  expect(await aglJson('store', 'delete', '--run', 'run-1')).toMatchObject({
    runs: 1,
    rollouts: 2,
    attempts: 1,
    spans: 0,
  });
  expect(await agl('store', 'restore', 'copy.db')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--force'),
  });
  await aglJson('store', 'restore', 'copy.db', '--force');
  expect((await agl('rollouts', '--run', 'run-1')).output).toContain('2 rollouts');
});

test('the backup procedure of the operations guide runs', async () => {
  const guide = readFileSync(path.resolve(import.meta.dirname, '../../../docs/operations.md'), 'utf8');
  const script = /## Backup\n\n```bash\n([\s\S]*?)```/.exec(guide)?.[1] ?? '';
  const main = path.resolve(import.meta.dirname, '../src/cli/main.ts');
  const command = `agl() { '${process.execPath}' --conditions=@agentlightning/source '${main}' "$@"; }`;
  const { status, stderr } = spawnSync('bash', ['-ec', `${command}\n${script}`], { cwd: folder, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(script.trim().split('\n')).toHaveLength(4);
  expect((await agl('rollouts', '--run', 'run-1', '--store', 'sqlite:other.db')).output).toContain('2 rollouts');
});

test('an archive is not written to a terminal', async () => {
  Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true });
  onTestFinished(() => void Reflect.deleteProperty(process.stdout, 'isTTY'));
  expect(await agl('store', 'export', 'run-1', '--out', '-')).toMatchObject({
    code: 2,
    output: '',
    stderr: expect.stringContaining('not written to a terminal'),
  });
});

test('a run goes through a file into another store, and not twice', async () => {
  const exported = await aglJson('store', 'export', 'run-1', '--out', 'run.gz');
  expect(exported).toMatchObject({ run: 'run-1', file: path.join(folder, 'run.gz') });
  const other = ['--store', 'sqlite:other.db'];
  expect(await aglJson('store', 'import', 'run.gz', ...other)).toMatchObject({ run: 'run-1', rollouts: 2 });
  expect(await agl('store', 'import', 'run.gz', ...other)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('run run-1 already exists'),
  });
  expect((await agl('rollouts', '--run', 'run-1', ...other)).output).toContain('1 succeeded, 1 cancelled');
  writeFileSync(path.join(folder, 'letter.gz'), 'this is a letter');
  expect(await agl('store', 'import', 'letter.gz', ...other)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Run archive'),
  });
});

test('an export that fails leaves no file behind', async () => {
  expect(await agl('store', 'export', 'run-9')).toMatchObject({ code: 2, stderr: expect.stringContaining('run-9') });
  expect(existsSync(path.join(folder, 'run-9.agl-run.gz'))).toBe(false);
  expect(existsSync(path.join(folder, 'run-9.agl-run.gz.partial'))).toBe(false);
});

test('what is old is pruned, and room is given back', async () => {
  expect(await agl('store', 'prune')).toMatchObject({ code: 2, stderr: expect.stringContaining('--older-than') });
  expect(await agl('store', 'prune', '--older-than', 'long')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"long" is not a duration such as 90s'),
  });
  expect(await aglJson('store', 'prune', '--older-than', '1h')).toMatchObject({ runs: 0 });
  expect((await agl('store', 'prune', '--keep-runs', '0', '--dry-run')).output).toBe(
    'Would delete 1 run, 2 rollouts, 1 attempt and 0 spans.\n',
  );
  expect((await agl('store', 'prune', '--keep-runs', '0')).output).toBe(
    'Deleted 1 run, 2 rollouts, 1 attempt and 0 spans.\n',
  );
  expect(await aglJson('store', 'vacuum')).toMatchObject({
    bytes_before: expect.any(Number),
    bytes_after: expect.any(Number),
  });
});

/** Makes `run-1` one of the embedded runtime with checkpoints of two policies; gives the folder of all. */
async function saveCheckpoints(): Promise<string> {
  const root = path.join(folder, '.agl/checkpoints');
  for (const model of ['run-1', 'run-1--critic', 'run-10']) {
    const made = path.join(root, model);
    mkdirSync(made, { recursive: true });
    const marker = JSON.stringify({ format: 'agentlightning-checkpoints/1', model });
    writeFileSync(path.join(made, '.agentlightning-checkpoints.json'), marker);
    writeFileSync(path.join(made, 'step-1.safetensors'), 'weights');
  }
  const store = await openStore(path.join(folder, '.agl/agl.db'));
  await store.deleteRun('run-1');
  const config = { runtime: { type: 'embedded' }, storeUrl: `sqlite:${path.join(folder, '.agl/agl.db')}` };
  await store.createRun({ runId: 'run-1', name: 'first', config });
  await store.updateRun('run-1', { status: 'finished', state: { dataDir: path.join(folder, '.agl') } });
  await store.close();
  return root;
}

test.each([
  ['delete', '--run', 'run-1'],
  ['prune', '--keep-runs', '0'],
])('the checkpoints of a run are deleted with it, and no others: agl store %s', async (...args) => {
  const root = await saveCheckpoints();
  const { output } = await agl('store', ...args);
  const listed = ['run-1', 'run-1--critic'].map((model) => `Checkpoints to delete: ${path.join(root, model)}\n`);
  expect(output).toBe(
    `${listed.join('')}Deleted 1 run, 0 rollouts, 0 attempts and 0 spans, with 136 bytes of checkpoints.\n`,
  );
  expect(readdirSync(root)).toEqual(['run-10']);
});

test('the checkpoints of a run stay when a copy of its store is pruned, or a copy of it deleted', async () => {
  const root = await saveCheckpoints();
  await aglJson('store', 'backup', '.agl/copy.db');
  const copy = ['--store', 'sqlite:.agl/copy.db'];
  expect(await aglJson('store', 'prune', '--keep-runs', '0', ...copy)).toMatchObject({ runs: 1, checkpoint_bytes: 0 });
  await aglJson('store', 'export', 'run-1', '--out', 'run.gz');
  await aglJson('store', 'import', 'run.gz', ...copy);
  expect(await aglJson('store', 'delete', '--run', 'run-1', ...copy)).toMatchObject({ runs: 1, checkpoint_bytes: 0 });
  expect(readdirSync(root)).toHaveLength(3);
});

test('only what is finished is deleted, unless forced, and something must be named', async () => {
  expect(await agl('store', 'delete')).toMatchObject({ code: 2, stderr: expect.stringContaining('--rollout') });
  expect(await agl('store', 'delete', '--rollout', 'ro-3')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/ro-3 is queuing[\s\S]*Set its status to cancelled/),
  });
  expect(await aglJson('store', 'delete', '--rollout', 'ro-2')).toMatchObject({ rollouts: 1 });
});

test('an unknown id is reported before anything is deleted', async () => {
  expect(await agl('store', 'delete', '--run', 'run-1', 'run-9')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('run-9'),
  });
  expect((await agl('rollouts', '--run', 'run-1')).output).toContain('2 rollouts');
});

test('pending migrations are reported, and commands below store have help with an example', async () => {
  expect(await aglJson('store', 'migrate', '--dry-run')).toMatchObject({ migrations: [], dry_run: true });
  for (const name of ['backup', 'restore', 'vacuum', 'migrate', 'export', 'import', 'delete', 'prune']) {
    const { code, output } = await agl('store', name, '--help');
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/Example:\n +agl store .*/) });
  }
});

test('a server holds attempts to the quotas of its flags', async () => {
  await using server = new AglProcess(['store', '--port', '0', '--max-span-bytes', '2000'], { cwd: folder });
  const client = new StoreClient({ baseUrl: String((await server.event('ready'))['url']) });
  const { rolloutId, attempt } = await client.startRollout({ input: 1 });
  const span = aSpan({ rolloutId, attemptId: attempt.attemptId, attributes: { text: 'x'.repeat(2000) } });
  await expect(client.appendSpans([span])).rejects.toMatchObject({
    code: 'QUOTA_EXCEEDED',
    details: { quota: 'maxSpanBytes', limit: 2000 },
  });
  await client.close();
});

test('a server applies its retention policy automatically', async () => {
  await using server = new AglProcess(['store', '--port', '0', '--prune-keep-runs', '0'], { cwd: folder });
  const url = String((await server.event('ready'))['url']);
  await vi.waitFor(async () => expect((await agl('runs', '--store', url)).output).toContain('No runs yet'), {
    timeout: 60_000,
    interval: 500,
  });
});
