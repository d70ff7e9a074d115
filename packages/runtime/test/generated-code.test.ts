import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const tools = join(packageFolder, '..', '..', 'node_modules', '.bin');

it('is what buf makes of the contract, which is free of lint', async () => {
  const fresh = await mkdtemp(join(tmpdir(), 'generated-'));
  onTestFinished(() => rm(fresh, { recursive: true, force: true }));
  const env = { ...process.env, PATH: `${tools}${delimiter}${process.env['PATH'] ?? ''}` };
  const buf = (...args: string[]) => promisify(execFile)('buf', args, { cwd: packageFolder, env });
  await buf('lint');
  await buf('generate', '--output', fresh);
  expect(await filesOf(join(fresh, 'src/gen'))).toEqual(await filesOf(join(packageFolder, 'src/gen')));
});

async function filesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts')).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return new Map(names.map((name, at) => [name, texts[at] ?? '']));
}
