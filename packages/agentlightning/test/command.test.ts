import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const program = fileURLToPath(new URL('../src/main.ts', import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentlightning-'));
});

afterAll(async () => await rm(folder, { recursive: true, force: true }));

async function run(cwd: string, args: readonly string[]): Promise<string> {
  const command = ['--conditions=@agentlightning/source', program, ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd });
  return stdout.trim();
}

test('outside of a project, the trainer of this package runs', async () => {
  expect(await run(folder, ['--version'])).toMatch(/^\d+\.\d+\.\d+$/);
});

test('in a project with a trainer, that trainer runs', async () => {
  const project = join(folder, 'project');
  const trainer = join(project, 'node_modules/@agentlightning/trainer');
  await mkdir(trainer, { recursive: true });
  const manifest = { name: '@agentlightning/trainer', type: 'module', exports: { './main': './main.js' } };
  await writeFile(join(trainer, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(trainer, 'main.js'), 'console.log("own", process.argv.slice(2).join(" "));');
  expect(await run(project, ['runs', '--json'])).toBe('own runs --json');
});
