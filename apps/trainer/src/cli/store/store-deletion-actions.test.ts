import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject, Store } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pruneStore } from './store-deletion-actions.ts';

let folder = '';
let storeUrl = '';
let store: Store;
const previousDirectory = process.cwd();
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'agl-deletion-')));
  mkdirSync(path.join(folder, '.agl'));
  storeUrl = `sqlite:${path.join(folder, '.agl/agl.db')}`;
  store = await openStore(storeUrl);
});
afterEach(async () => {
  process.chdir(previousDirectory);
  vi.restoreAllMocks();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A finished run of the embedded runtime with this data directory. */
async function addRun(runId: string, dataDir: string, recordedStore: string = storeUrl): Promise<void> {
  await store.createRun({ runId, name: runId, config: { runtime: { type: 'embedded' }, storeUrl: recordedStore } });
  const state: JsonObject = { dataDir, checkpoints: [] };
  await store.updateRun(runId, { status: 'finished', state });
}

/** A folder with a file of 7 bytes, and with the marker of the embedded runtime when `model` is given. */
function addFolder(place: string, model?: string): string {
  const made = path.join(folder, place);
  mkdirSync(made, { recursive: true });
  writeFileSync(path.join(made, 'step-000001.safetensors'), 'weights');
  const marker = JSON.stringify({ format: 'agentlightning-checkpoints/1', model });
  if (model !== undefined) writeFileSync(path.join(made, '.agentlightning-checkpoints.json'), marker);
  return made;
}

interface Pruned {
  readonly runs: number;
  readonly checkpoints: readonly string[];
  readonly kept_checkpoints: readonly { readonly path: string; readonly reason: string }[];
}

async function prune(flags: { readonly dryRun?: boolean; readonly dataDir?: string } = {}): Promise<Pruned> {
  const output = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await pruneStore({ store: storeUrl, keepRuns: 0, json: true, ...flags });
  const written = output.mock.calls.flat().join('');
  output.mockRestore();
  return JSON.parse(written) as Pruned;
}

test("a data directory that a client of the store wrote into a run deletes nothing outside of the store's own", async () => {
  const victim = addFolder('elsewhere/checkpoints/photos', 'photos');
  await addRun('photos', path.join(folder, 'elsewhere'));
  const outcome = await prune();
  expect(outcome).toMatchObject({ runs: 1, checkpoints: [], kept_checkpoints: [{ path: victim }] });
  expect(existsSync(victim)).toBe(true);
});

test('the relative store of an imported run does not make it a run of this store', async () => {
  const victim = addFolder('.agl/checkpoints/photos', 'photos');
  await addRun('photos', path.join(folder, '.agl'), 'sqlite:.agl/agl.db');
  process.chdir(folder);
  expect(await prune()).toMatchObject({ runs: 1, checkpoints: [] });
  expect(existsSync(victim)).toBe(true);
});

test('checkpoints that a Tinker server or another runtime keeps are named, with how to delete them', async () => {
  const dataDir = path.join(folder, '.agl');
  const runtimes: readonly JsonObject[] = [
    { type: 'tinker', baseUrl: 'https://user:secret@tinker.example' },
    { type: 'grpc', address: 'gpu-1:50051' },
  ];
  for (const [index, runtime] of runtimes.entries()) {
    const runId = `remote-${index}`;
    await store.createRun({ runId, name: runId, config: { runtime, storeUrl } });
    const state: JsonObject = { dataDir, checkpoints: [{ step: 10, uris: { '': 'u' } }] };
    await store.updateRun(runId, { status: 'finished', state });
  }
  await store.createRun({ runId: 'unsaved', name: 'unsaved', config: { runtime: runtimes[1] ?? null, storeUrl } });
  await store.updateRun('unsaved', { status: 'failed', state: { dataDir, checkpoints: [] } });
  const { kept_checkpoints: kept } = await prune();
  expect(kept).toHaveLength(2);
  expect(kept).toEqual(
    expect.arrayContaining([
      {
        path: expect.stringMatching(/^https:\/\/(?!.*secret).*tinker\.example/),
        reason: 'is a Tinker server, which keeps 1 checkpoint of remote-0',
        remedy: expect.stringContaining(path.join(dataDir, 'checkpoints', 'remote-0')),
      },
      {
        path: 'gpu-1:50051',
        reason: 'is a runtime, which keeps 1 checkpoint of remote-1',
        remedy: 'Delete them in its checkpoint folder.',
      },
    ]),
  );
});

test('only folders with the marker of the same model are deleted, and not behind a symbolic link', async () => {
  const own = [
    addFolder('.agl/checkpoints/run-1', 'run-1'),
    addFolder('.agl/checkpoints/run-1--critic', 'run-1--critic'),
  ];
  const others = [
    addFolder('.agl/checkpoints/run-1-other', 'run-1-other'),
    addFolder('.agl/checkpoints/run-10', 'run-10'),
  ];
  const unmarked = addFolder('.agl/checkpoints/run-2');
  const foreign = addFolder('.agl/checkpoints/run-3', 'another');
  const target = addFolder('elsewhere/run-4', 'run-4');
  symlinkSync(target, path.join(folder, '.agl/checkpoints/run-4'));
  for (const runId of ['run-1', 'run-2', 'run-3', 'run-4']) await addRun(runId, path.join(folder, '.agl'));
  const { checkpoints, kept_checkpoints: kept } = await prune({ dryRun: true });
  expect(checkpoints).toEqual(own);
  expect(kept).toMatchObject([
    { path: unmarked, reason: 'has no checkpoint marker' },
    { path: foreign, reason: 'has no checkpoint marker' },
    { path: path.join(folder, '.agl/checkpoints/run-4'), reason: 'is reached through a symbolic link' },
  ]);
  expect(existsSync(own[0] ?? '')).toBe(true);
  expect(await prune()).toMatchObject({ runs: 4, checkpoints, checkpoint_bytes: expect.any(Number) });
  expect([...own, ...others, unmarked, foreign, target].map((each) => existsSync(each))).toEqual([
    ...[false, false],
    ...[true, true, true, true, true],
  ]);
});

test('the data directory that the operator names is where checkpoints are deleted', async () => {
  const named = addFolder('data/checkpoints/run-1', 'run-1');
  await addRun('run-1', path.join(folder, 'data'));
  expect(await prune({ dataDir: path.join(folder, 'data') })).toMatchObject({ runs: 1, checkpoints: [named] });
  expect(existsSync(named)).toBe(false);
});

test('a folder that cannot be deleted is reported, and those of other runs are deleted', async () => {
  const errors = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const stuck = addFolder('.agl/checkpoints/run-1', 'run-1');
  const last = addFolder('.agl/checkpoints/run-2', 'run-2');
  await addRun('run-1', path.join(folder, '.agl'));
  await addRun('run-2', path.join(folder, '.agl'));
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    // Listed and not deleted yet: its marker disappears in between.
    if (String(text).includes(stuck)) rmSync(path.join(stuck, '.agentlightning-checkpoints.json'));
    return true;
  });
  await pruneStore({ store: storeUrl, keepRuns: 0 });
  expect([existsSync(stuck), existsSync(last)]).toEqual([true, false]);
  expect(errors.mock.calls.flat().join('')).toMatch(new RegExp(`${stuck}: .*it has no checkpoint marker`));
});
