import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Store } from '@agentlightning/core';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { deleteOld } from './store-deletion-actions.ts';

let folder = '';
let storeUrl = '';
let store: Store;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-deletion-'));
  storeUrl = `sqlite:${path.join(folder, 'agl.db')}`;
  store = await openStore(storeUrl);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A run of the embedded runtime that is over, with a checkpoint; gives the folder of it. */
async function addRun(runId: string, dataDir: string = folder): Promise<string> {
  await store.createRun({ runId, name: runId, config: { runtime: { type: 'embedded' }, storeUrl } });
  await store.updateRun(runId, { status: 'finished', state: { dataDir, checkpoints: [] } });
  const checkpoints = path.join(dataDir, 'checkpoints', runId);
  if (dataDir !== folder) return checkpoints;
  mkdirSync(checkpoints, { recursive: true });
  writeFileSync(path.join(checkpoints, 'step-000001.safetensors'), 'weights');
  return checkpoints;
}

test('a run that is there keeps its checkpoints, though a list that changes while it is read may lack it', async () => {
  for (let number = 0; number < 502; number += 1)
    await store.createRun({ runId: `filler-${number}`, name: 'x', config: {} });
  const kept = await addRun('kept');
  let lists = 0;
  const changing = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'queryRuns') return typeof value === 'function' ? value.bind(target) : value;
      return async (options: { readonly limit: number; readonly offset: number }) => {
        if (options.offset === 0) lists += 1;
        const page = await target.queryRuns(options);
        // From the second list on none has it.
        return lists < 2 ? page : { ...page, items: page.items.filter(({ runId }) => runId !== 'kept') };
      };
    },
  });
  expect(await deleteOld(changing, { olderThanMs: 3_600_000 }, storeUrl)).toMatchObject({ checkpointBytes: 0 });
  expect(existsSync(kept)).toBe(true);
});

test('what cannot be deleted of one run is told, and those of others go', async () => {
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const linked = await addRun('linked');
  symlinkSync(path.join(folder, 'gone'), path.join(linked, 'best'));
  const elsewhere = path.join(folder, 'elsewhere');
  mkdirSync(elsewhere);
  writeFileSync(path.join(elsewhere, 'checkpoints'), 'no folder');
  const stuck = await addRun('stuck', elsewhere);
  const last = await addRun('last');
  const { counts, checkpointBytes } = await deleteOld(store, { keepRuns: 0 }, storeUrl);
  expect(counts).toMatchObject([{ runs: 3 }]);
  expect(checkpointBytes).toBeGreaterThanOrEqual(14);
  expect([existsSync(linked), existsSync(last)]).toEqual([false, false]);
  expect(told.mock.calls.flat().join('')).toMatch(new RegExp(`${stuck} could not be deleted: ENOTDIR`));
});
