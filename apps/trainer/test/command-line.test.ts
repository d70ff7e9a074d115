import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type EndedCommand, runAgl } from './agl-command.ts';
import { AglProcess, summaryOf } from './agl-process.ts';

const smallConfig = path.resolve(import.meta.dirname, 'fixtures/small.config.ts');

const leavingConfig = path.resolve(import.meta.dirname, 'fixtures/leaving.config.ts');

const carelessConfig = path.resolve(import.meta.dirname, 'fixtures/careless.config.ts');

/** Each test starts a process or more, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-cli-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command in a separate process, as its configuration needs. */
async function fail(...args: string[]): Promise<{ readonly code: number | null; readonly stderr: string }> {
  await using agl = new AglProcess(args, { cwd: folder });
  return { code: await agl.exitCode(), stderr: agl.stderr };
}

/** Runs a command that loads no configuration. */
function run(...args: string[]): Promise<EndedCommand> {
  return runAgl(args, { cwd: folder });
}

test('an unknown flag or command is named with the nearest one', async () => {
  const flag = await fail('train', '--stepps', '3');
  expect(flag.code).toBe(2);
  expect(flag.stderr).toMatch(/unknown option '--stepps'[\s\S]*Did you mean --steps/);
  expect((await run('trian')).stderr).toMatch(/unknown command 'trian'[\s\S]*Did you mean train/);
});

test('a flag with a wrong value is named with what it takes', async () => {
  const { code, stderr } = await run('train', '--steps', 'many');
  expect(code).toBe(2);
  expect(stderr).toMatch(/--steps.*"many" is not a whole number/);
});

test('an empty flag, such as from an unset variable, is not zero', async () => {
  const { code, stderr } = await run('train', '--steps', '');
  expect(code).toBe(2);
  expect(stderr).toMatch(/--steps.*"" is not a whole number/);
});

test('a path that is not writable is reported without a stack', async () => {
  writeFileSync(path.join(folder, 'letter'), 'a file in the way');
  const { code, stderr } = await fail('train', smallConfig, '--data-dir', path.join(folder, 'letter', 'deep'));
  expect(code).toBe(2);
  expect(stderr).toMatch(/CONFIG.*letter/);
  expect(stderr).not.toMatch(/^ +at /m);
  const imported = await run('store', 'import', folder);
  expect(imported.code).toBe(2);
  expect(imported.stderr).toMatch(/Name a file: this path is a folder/);
  expect(imported.stderr).not.toMatch(/^ +at /m);
});

test('an unknown log level is reported with the valid ones', async () => {
  vi.stubEnv('AGL_LOG_LEVEL', 'debgu');
  const { code, stderr } = await run('store', '--port', '0');
  vi.unstubAllEnvs();
  expect(code).toBe(2);
  expect(stderr).toMatch(/AGL_LOG_LEVEL is "debgu"; did you mean "debug"\?[\s\S]*trace, debug, info/);
});

test('a missing configuration file is named with its full path', async () => {
  const { code, stderr } = await run('train');
  expect(code).toBe(2);
  expect(stderr).toContain(path.join(folder, 'agl.config.ts'));
});

test('an unknown key of the configuration is named with the nearest one', async () => {
  writeFileSync(path.join(folder, 'agl.config.ts'), 'export default { agent: () => 1, taskz: {} };');
  const { code, stderr } = await fail('train');
  expect(code).toBe(2);
  expect(stderr).toMatch(/there is no option "taskz"; did you mean "tasks"/);
});

test('the process runs with the Node flags that it was started with', async () => {
  writeFileSync(path.join(folder, 'agl.config.ts'), "throw new Error('flags: ' + process.execArgv.join() + ';');");
  const { code, stderr } = await fail('train', '--steps', '3');
  expect(code).toBe(2);
  expect(stderr).toContain('flags: --conditions=@agentlightning/source;');
});

test('a bad line of a task file is named by file and line', async () => {
  writeFileSync(path.join(folder, 'train.jsonl'), '{"a":1}\n{"a":\n');
  writeFileSync(
    path.join(folder, 'agl.config.ts'),
    "export default { agent: () => 1, tasks: { train: 'train.jsonl', test: 'train.jsonl' } };",
  );
  const { code, stderr } = await fail('train');
  expect(code).toBe(2);
  expect(stderr).toMatch(/train\.jsonl:2: not JSON/);
});

test('a runtime that is not there is named, and nothing hangs', { tags: ['long'] }, async () => {
  const { code, stderr } = await fail('train', smallConfig, '--runtime', '127.0.0.1:1', '--data-dir', folder);
  expect(code).toBe(3);
  expect(stderr).toMatch(/RUNTIME_UNAVAILABLE.*127\.0\.0\.1:1/);
  // The run is in the store by then; the error contains the complete command that resumes it.
  expect(stderr).toMatch(/Resume with: agl train \S+small\.config\.ts --runtime \S+ --data-dir \S+ --resume run-\w+/);
});

test('an unknown base model is corrected by a new run, since the existing run has another model', async () => {
  const file = path.join(folder, 'misspelt.config.ts');
  const model = "runtime: { type: 'embedded', model: 'tiny-randm' }";
  writeFileSync(file, `import small from '${smallConfig}';\nexport default { ...small, ${model} };`);
  await using agl = new AglProcess(['train', file, '--json', '--data-dir', folder]);
  expect(await agl.exitCode()).toBe(2);
  expect(agl.events.at(-1)).toMatchObject({ type: 'failed', code: 'CONFIG', resume: null });
  expect(agl.stderr).not.toContain('--resume');
});

test.skipIf(process.platform !== 'linux')(
  'output that cannot be written is reported, and not attributed to the agent',
  async () => {
    await using agl = new AglProcess(['train', smallConfig, '--data-dir', folder], {
      output: openSync('/dev/full', 'w'),
    });
    expect(await agl.exitCode()).toBe(1);
    expect(agl.stderr).toMatch(
      /standard output cannot be written: ENOSPC[\s\S]*the run was stopped[\s\S]*--resume run-/,
    );
    expect(agl.stderr).not.toContain('process.exit');
  },
);

test('a taken port is named', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const { code, stderr } = await run('store', '--db', 'sqlite:agl.db', '--port', String(port));
  taken.close();
  expect(code).toBe(3);
  expect(stderr).toMatch(new RegExp(`PORT_IN_USE.*${port}`));
});

test('a store that is not there is named by commands that only read', async () => {
  const { code, stderr } = await run('runs');
  expect(code).toBe(2);
  expect(stderr).toContain('.agl/agl.db');
});

test('a store served over http holds a whole run, which runs and show can read', { tags: ['long'] }, async () => {
  await using store = new AglProcess(['store', '--db', `sqlite:${path.join(folder, 'agl.db')}`, '--port', '0']);
  const url = String((await store.event('ready'))['url']);
  await using training = new AglProcess([
    'train',
    smallConfig,
    '--json',
    '--store',
    url,
    '--data-dir',
    folder,
    '--steps',
    '1',
  ]);
  const done = await training.event('finished');
  expect((await run('runs', '--store', url, '--json')).output).toContain(`"run":"${String(summaryOf(done)['runId'])}"`);
  const show = await run('show', String(summaryOf(done)['exampleAfter']), '--store', url);
  expect(show.code).toBe(0);
  expect(show.output).toMatch(/rollout[\s\S]*model run-[\s\S]*tokens[\s\S]*policy v1/);
});

test('standard output of --json is JSON whatever the agent writes, and its invalid output stops nothing', async () => {
  await using agl = new AglProcess(['train', carelessConfig, '--json', '--data-dir', folder, '--steps', '0']);
  expect(await agl.exitCode()).not.toBeNull();
  expect(agl.events.map(({ type }) => type)).not.toContain('text');
  expect(agl.events.at(-1)?.type).toBe('finished');
  expect(agl.events.find(({ type }) => type === 'warning')).toMatchObject({
    message: expect.stringMatching(/dropped/),
  });
  expect(agl.stderr).toContain('{ this is not JSON');
  expect(agl.stderr).toContain('{ neither is this');
});

test.each([
  ['exit', /ended with exit code 0 before the run had ended/],
  ['throw', /an uncaught error ended the process: Error: thrown by a timer/],
])(
  'an agent that ends the process of the trainer (%s) is a failure, and the run can be resumed',
  async (how, message) => {
    const args = ['train', leavingConfig, '--json', '--in-process', '--data-dir', folder];
    await using agl = new AglProcess(args, { env: { LEAVE: how } });
    expect(await agl.exitCode()).toBe(1);
    const failed = agl.events.at(-1);
    expect(failed).toMatchObject({ type: 'failed', code: 'AGENT_FAILED', message: expect.stringMatching(message) });
    expect(failed?.['resume']).toMatch(/agl train .*--resume run-/);
    expect(agl.stderr).toMatch(message);
  },
);

test('a configuration that ends the process is a failure', async () => {
  writeFileSync(path.join(folder, 'agl.config.ts'), 'process.exit(0);');
  const { code, stderr } = await fail('train');
  expect(code).toBe(1);
  expect(stderr).toMatch(/the process was ended with exit code 0/);
});

test('reports its version, and creates a store that does not exist yet', async () => {
  await using version = new AglProcess(['--version']);
  expect(await version.exitCode()).toBe(0);
  expect(version.output).toMatch(/^\d+\.\d+\.\d+\n$/);
  await using store = new AglProcess(['store', '--port', '0'], { cwd: folder });
  await store.event('ready');
  expect(existsSync(path.join(folder, '.agl/agl.db'))).toBe(true);
  store.interrupt();
  expect(await store.exitCode()).toBe(0);
});

test('a folder given as a flag starts from the current folder', async () => {
  await using agl = new AglProcess(['train', smallConfig, '--json', '--data-dir', 'here', '--steps', '0'], {
    cwd: folder,
  });
  await agl.event('finished');
  expect(existsSync(path.join(folder, 'here/agl.db'))).toBe(true);
});
