import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAgl } from './agl-command.ts';
import { RunFolder } from './run-folder.ts';

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => {
  vi.unstubAllEnvs();
  folder[Symbol.dispose]();
});

function write(text: string, name = 'config.yaml'): string {
  const file = path.join(folder.path, name);
  writeFileSync(file, text);
  return file;
}

async function printed(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, output, stderr } = await runAgl(['config', 'print', '--json', ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { settings } = JSON.parse(output) as { settings: { name: string; value: unknown; position: unknown }[] };
  return Object.fromEntries(settings.map(({ name, value, position }) => [name, [value, position]]));
}

test('a flag precedes the environment, then the file, then the default', async () => {
  const file = write('port: 5000\nsteps: 3\nmodel: from-file\nruntime:\n');
  vi.stubEnv('AGL_STEPS', '9');
  vi.stubEnv('AGL_MODEL', 'from-environment');
  vi.stubEnv('AGL_PORT', '');
  expect(await printed('--config', file, '--model', 'from-flag')).toMatchObject({
    model: ['from-flag', '--model'],
    steps: [9, 'AGL_STEPS'],
    port: [5000, `${file}:1`],
    host: ['127.0.0.1', null],
    runtime: [null, null],
  });
});

test('JSON and $schema are accepted', async () => {
  const file = write('{\n\t"$schema": "./agl.schema.json",\n\t"learningRate": 1e-5\n}\n', 'config.json');
  expect(await printed('--config', file)).toMatchObject({ learningRate: [1e-5, `${file}:3`] });
});

test('each problem of a file has its line and column', async () => {
  const file = write('prot: 3\nport: 70000\nalgorithm: grop\n');
  const { code, stderr } = await runAgl(['config', 'print', '--config', file]);
  expect(code).toBe(2);
  expect(stderr).toContain(`${file}:1:1: there is no option "prot"; did you mean "port"?`);
  expect(stderr).toContain(`${file}:2:7: port: must be at most 65535, not 70000`);
  expect(stderr).toContain(`${file}:3:12: algorithm: must be one of`);
  expect((await runAgl(['config', 'print', '--config', write('a: [')])).stderr).toContain(`${file}:`);
  expect((await runAgl(['config', 'print', '--config', write('text')])).stderr).toContain('must have settings');
});

test('wrong values of variables and flags are named', async () => {
  vi.stubEnv('AGL_PORT', 'x');
  vi.stubEnv('AGL_TRAIN_BATCH_SIZE', '0');
  const { code, stderr } = await runAgl(['config', 'print']);
  expect(code).toBe(2);
  expect(stderr).toContain('AGL_PORT: must be a number, not "x"');
  expect(stderr).toContain('AGL_TRAIN_BATCH_SIZE: must be at least 1, not 0');
  expect((await runAgl(['server', '--port', '70000'])).stderr).toContain('must be at most 65535, not 70000');
});

test('passwords are not printed', async () => {
  vi.stubEnv('AGL_STORE', 'postgres://agl:hidden@db/agl');
  const { output } = await runAgl(['config', 'print']);
  expect(output).toContain('postgres://…@db/agl');
  expect(output).not.toContain('hidden');
});

test('the JSON Schema has every setting, and is the published one', async () => {
  const { output } = await runAgl(['config', 'schema']);
  const published = readFileSync(path.resolve(import.meta.dirname, '../server.schema.json'), 'utf8');
  expect(JSON.parse(published), 'update it: agl config schema > apps/trainer/server.schema.json').toEqual(
    JSON.parse(output),
  );
  const { properties } = JSON.parse(output) as { properties: object };
  expect(Object.keys(properties)).toEqual(['$schema', ...Object.keys(await printed())]);
});
