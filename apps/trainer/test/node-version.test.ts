import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { lowestNode } from '../src/doctor/node-version.ts';

const entry = path.resolve(import.meta.dirname, '../src/cli/main.ts');

/** Runs `agl` after a module that prepares the process. */
async function agl(prepared: string, ...args: string[]): Promise<{ readonly code: number; readonly stderr: string }> {
  const flags = [
    '--conditions=@agentlightning/source',
    `--import=data:text/javascript,${encodeURIComponent(prepared)}`,
  ];
  const run = promisify(execFile)(process.execPath, [...flags, entry, ...args]);
  return run.then(
    ({ stderr }) => ({ code: 0, stderr }),
    ({ code, stderr }: { readonly code: number; readonly stderr: string }) => ({ code, stderr }),
  );
}

const asNode = (version: string): string =>
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;

test('an unsupported version of Node is one sentence', async () => {
  const { code, stderr } = await agl(asNode('20.20.2'), 'runs');
  expect(code).toBe(2);
  expect(stderr).toBe(
    'error: agl requires Node.js 22.16 or later, but not 23, and this is 20.20.2. Install Node.js 24 from https://nodejs.org.\n',
  );
  for (const version of ['22.15.1', '23.11.1']) expect((await agl(asNode(version), '--version')).code).toBe(2);
  for (const version of ['22.16.0', '24.0.0']) expect((await agl(asNode(version), '--version')).code).toBe(0);
});

test('the supported versions are those of package.json', () => {
  const manifest = JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../package.json'), 'utf8'));
  expect(manifest.engines.node).toBe(`>=${lowestNode.join('.')} <23 || >=24`);
});

test('only the expected experimental warning is silenced', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-node-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'agl.config.mjs');
  // What Node does when a module imports node:sqlite for the first time.
  const sqlite = "process.emitWarning('SQLite is an experimental feature and might change', 'ExperimentalWarning');";
  writeFileSync(
    file,
    `${sqlite}\nprocess.emitWarning('the user’s own', 'ExperimentalWarning');\nthrow new Error('end');`,
  );
  const { stderr } = await agl('', 'train', file);
  expect(stderr).toContain('ExperimentalWarning: the user’s own');
  expect(stderr).not.toContain('SQLite');
});
