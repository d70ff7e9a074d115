import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const tools = join(packageFolder, '..', '..', 'node_modules', '.bin');

function buf(...args: readonly string[]): Promise<{ readonly stdout: string }> {
  const env = { ...process.env, PATH: `${tools}${delimiter}${process.env['PATH'] ?? ''}` };
  return promisify(execFile)('buf', args, { cwd: packageFolder, env });
}

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'contract-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('matches the output of buf for the contract, which passes lint', async () => {
  const fresh = await freshFolder();
  await buf('lint');
  await buf('generate', '--output', fresh);
  expect(await filesOf(join(fresh, 'src/gen'))).toEqual(await filesOf(join(packageFolder, 'src/gen')));
});

it('matches the contract of the baseline', async () => {
  const image = join(await freshFolder(), 'image.binpb');
  await buf('build', '--exclude-source-info', '-o', image);
  expect((await readFile(image)).equals(await readFile(join(packageFolder, 'baseline.binpb')))).toBe(true);
});

it.each([
  ['a field with another number', 'bytes weights = 5;', 'bytes weights = 15;'],
  ['a field with another type', 'uint32 seq = 3;', 'uint64 seq = 3;'],
  ['a removed field', '  double temperature = 7;', ''],
  ['an enumeration with another name', 'BATCH_KIND_FORWARD = 1;', 'BATCH_KIND_SCORE = 1;'],
])('rejects %s', async (_what, before, after) => {
  const checking = checkAgainstBaseline((contract) => contract.replace(before, after));
  await expect(checking).rejects.toMatchObject({ stdout: expect.stringContaining('batch.proto') });
});

it('accepts a new field', async () => {
  const field = '  double temperature = 7;';
  await checkAgainstBaseline((contract) => contract.replace(field, `${field}\n  bytes more = 99;`));
});

/** Modifies a copy of the contract and checks it for breaking changes with buf. */
async function checkAgainstBaseline(change: (contract: string) => string): Promise<void> {
  const folder = await freshFolder();
  await cp(join(packageFolder, 'proto'), join(folder, 'proto'), { recursive: true });
  await cp(join(packageFolder, 'buf.yaml'), join(folder, 'buf.yaml'));
  const file = join(folder, 'proto/agentlightning/runtime/v1/batch.proto');
  const contract = await readFile(file, 'utf8');
  const changed = change(contract);
  expect(changed).not.toBe(contract);
  await writeFile(file, changed);
  await buf('breaking', folder, '--against', 'baseline.binpb');
}

async function filesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts')).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return new Map(names.map((name, at) => [name, texts[at] ?? '']));
}
