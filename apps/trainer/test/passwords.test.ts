import { startPostgres } from '@agentlightning/store/testing';
import { expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { impatientConfigFile, RunFolder, smallConfigFile } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

/** Encoded in an address, and not: what of it is seen anywhere is too much. */
const password = 'hunter:2/@hunter';
const seen = /hunter/;

/** Runs `agl` to its end; all that it wrote. */
async function written(args: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  await using agl = new AglProcess(args);
  const code = await agl.exitCode();
  return { code, text: agl.output + agl.stderr };
}

test('a training in a database, and a server of it, show where it is without its password', {
  tags: ['long'],
}, async () => {
  await using postgres = await startPostgres();
  using folder = new RunFolder();
  const url = await postgres.createDatabase();
  const store = url.replace('postgres@', `postgres:${encodeURIComponent(password)}@`);
  const shown = url.replace('postgres@', '…@');
  const small = ['train', smallConfigFile, '--steps', '0', '--store', store, '--data-dir', folder.path];

  const { text } = await written([...small, '--run', 'one']);
  expect(text).toContain(`The run is stored in ${shown} (run one)`);
  expect(text).toContain(`agl runs --store ${shown}`);
  expect(text).not.toMatch(seen);

  const again = await written([...small, '--resume', 'one', '--json']);
  expect(again.text).toContain(`"store":"${shown}"`);
  expect(again.text).not.toMatch(seen);

  await using server = new AglProcess(['store', '--db', store, '--port', '0']);
  const served = await fetch(`${String((await server.event('ready'))['url'])}/v1/agl/runs`);
  expect(await served.text()).toContain(`"storeUrl":"${shown}"`);
  expect(server.stderr).toContain(`"db":"${shown}"`);
  expect(server.stderr + server.output).not.toMatch(seen);
});

const encoded = encodeURIComponent(password);

test.each([
  ['no store at mysql://…@db/agl', ['runs', '--store', `mysql://agl:${password}@db/agl`]],
  ['no store at …@db/agl', ['runs', '--store', `agl:${password}@db/agl`]],
  ['no store at postgres://…@db/agl', ['rollouts', '--store', `sqlite:postgres://agl:${password}@db/agl`]],
  ['Store location postgres://…@db/agl', ['runs', '--store', `postgres://agl:${password}@db/agl`]],
  ['Store location postgres:…@db/agl', ['runs', '--store', `postgres:agl:${password}@db/agl`]],
  ['Store location mysql://…@db/agl', ['store', '--db', `mysql://agl:${password}@db/agl`]],
  ["The store's address http://…@db has a user", ['runs', '--store', `http://agl:${encoded}@db`]],
  ["The store's address http://…@db has a user", ['runs', '--store', `http://agl:${password}@db`]],
  ['http://…@db is a server', ['keys', 'list', '--store', `http://agl:${password}@db`]],
  ["unknown command 'postgres://…@db/agl'", [`postgres://agl:${password}@db/agl`]],
])('%s', async (said, args) => {
  const { code, output, stderr } = await runAgl(args);
  expect(code).not.toBe(0);
  expect(output + stderr).toContain(said);
  expect(output + stderr).not.toMatch(seen);
});

test.each([
  ['the gateway at http://…@db does not respond', `http://agl:${encoded}@db`],
  ['not "http://…@db"', `http://agl:${password}@db`],
])('%s', async (said, gateway) => {
  using folder = new RunFolder();
  const { code, text } = await written(['train', impatientConfigFile, '--gateway', gateway, '--data-dir', folder.path]);
  expect(code).not.toBe(0);
  expect(text).toContain(said);
  expect(text).not.toMatch(seen);
});
