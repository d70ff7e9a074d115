import { rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { type BenchmarkResult, progress, result } from '../report.ts';
import { measureInTurns } from '../rounds.ts';
import { median } from '../statistics.ts';
import { bytesPerRollout, bytesPerSpan, filledRunId, fillStore } from './fill.ts';
import { HttpLoad, type LoadRequest } from './http-load.ts';
import { measureSearches } from './searches.ts';
import { type ServedStore, serve } from './serve.ts';
import { claimRequest, enqueue } from './workload.ts';

const spansPerRollout = 10;
const rounds = 11;
const callsPerRound = 60;

/** A store of one size, served. */
interface SizedStore {
  readonly rollouts: number;
  readonly file: string;
  readonly served: ServedStore;
  readonly load: HttpLoad;
  readonly someIds: readonly string[];
}

/** Calls whose latency must not depend on the size. */
const flatCalls: Readonly<Record<string, (index: number, store: SizedStore) => LoadRequest>> = {
  claim: (index) => claimRequest(index),
  list: () => get('/rollouts?limit=20'),
  'latest attempt': (index, { someIds }) => get(`/rollouts/${someIds[index % someIds.length] ?? ''}/attempts/latest`),
};

/**
 * Measures stores of several sizes in turns. Creates and removes their files.
 */
export async function measureSizes(folder: string, sizes: readonly number[]): Promise<readonly BenchmarkResult[]> {
  const stores: SizedStore[] = [];
  try {
    for (const rollouts of sizes) stores.push(await openSize(folder, rollouts));
    const results: BenchmarkResult[] = [];
    for (const [name, requestOf] of Object.entries(flatCalls)) {
      progress(`at every size: ${name}`);
      results.push(...(await compare(name, stores, requestOf)));
    }
    const largest = stores.at(-1);
    if (largest === undefined) return results;
    results.push(...(await firstPages(largest)));
    return [...results, ...(await measureSearches(largest.load, largest.rollouts))];
  } finally {
    for (const { served, load, file } of stores) {
      load.close();
      await served.close();
      rmSync(file, { force: true });
    }
  }
}

async function openSize(folder: string, rollouts: number): Promise<SizedStore> {
  const bytes = rollouts * (bytesPerRollout + spansPerRollout * bytesPerSpan);
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < 1.5 * bytes)
    throw new Error(`${folder} has not enough space for a store of ${rollouts} rollouts`);
  progress(`${rollouts} rollouts are created: ${(bytes / 1e9).toFixed(1)} GB`);
  const file = path.join(folder, `size-${rollouts}.db`);
  const beganMs = performance.now();
  await fillStore(file, { rollouts, spansPerRollout });
  const seconds = (performance.now() - beganMs) / 1000;
  progress(`${rollouts} rollouts with ${rollouts * spansPerRollout} spans created in ${seconds.toFixed(1)} s`);
  const served = await serve(file);
  const load = new HttpLoad(served.url);
  await enqueue(load, 2 * rounds * callsPerRound);
  const page = await load.json<{ readonly items: readonly { readonly rollout_id: string }[] }>(
    get('/rollouts?limit=200&sort_by=rollout_id&status_in=succeeded'),
  );
  return { rollouts, file, served, load, someIds: page.items.map(({ rollout_id }) => rollout_id) };
}

/** Measures a call at every size, with one client. */
async function compare(
  name: string,
  stores: readonly SizedStore[],
  requestOf: (index: number, store: SizedStore) => LoadRequest,
): Promise<readonly BenchmarkResult[]> {
  const samples = await measureInTurns(stores, { rounds, warmUps: 1 }, async (store) => {
    const { latenciesMs } = await store.load.closedLoop(callsPerRound, 1, (call) => requestOf(call, store));
    return median(latenciesMs);
  });
  const costs = stores.map((store) => median(samples.get(store) ?? []));
  const smallest = costs[0] ?? Number.NaN;
  return stores.flatMap(({ rollouts }, index) => {
    const value = costs[index] ?? Number.NaN;
    const absolute = result(`${name} at ${rollouts} rollouts`, { value, unit: 'ms' }, null);
    if (index === 0) return [absolute];
    const ratio = `${name}, ${rollouts} rollouts to ${stores[0]?.rollouts ?? 0}`;
    return [absolute, result(ratio, { value: value / smallest, unit: 'x' }, { atMost: 1.2 })];
  });
}

/** Measures the first page of every kind of list of the largest store; the median of several each. */
async function firstPages({ load, rollouts, someIds }: SizedStore): Promise<readonly BenchmarkResult[]> {
  const orders = ['start_time', 'end_time', 'status', 'rollout_id', 'mode', 'resources_id'].flatMap((field) =>
    ['asc', 'desc'].map((direction) => `&sort_by=${field}&sort_order=${direction}`),
  );
  const filters = [
    '',
    '&status_in=succeeded',
    '&status_in=failed',
    '&status_in=failed&status_in=cancelled&status_in=succeeded',
    '&mode_in=val',
    `&run_id=${filledRunId}`,
    `&run_id=${filledRunId}&status_in=failed`,
  ];
  const lists = ['', ...orders].flatMap((order) => filters.map((filter) => `/rollouts?limit=100${order}${filter}`));
  const others = ['/workers?limit=100', '/resources?limit=100', '/runs?limit=100', `/spans?rollout_id=${someIds[0]}`];
  progress(`first pages of ${lists.length + others.length} lists at ${rollouts} rollouts`);
  const times = new Map<string, number>();
  for (const path of [...lists, ...others]) times.set(path, await medianOf(load, path));
  const slowest = [...times].sort(([, left], [, right]) => right - left);
  console.log(`The slowest first pages at ${rollouts} rollouts, in ms:`, Object.fromEntries(slowest.slice(0, 5)));
  const at = `at ${rollouts} rollouts`;
  const narrowLists = {
    'by a piece of the id': '/rollouts?limit=100&rollout_id_contains=ff00',
    'by a piece of every id': '/rollouts?limit=100&rollout_id_contains=ro-',
    'by metadata': `/rollouts?limit=100&metadata=${encodeURIComponent('{"data_id":77}')}`,
    'by metadata that a tenth has, newest first': `/rollouts?limit=100&sort_order=desc&metadata=${encodeURIComponent('{"fold":7}')}`,
    'by metadata and status, in order of time': `/rollouts?limit=100&sort_by=start_time&status_in=failed&metadata=${encodeURIComponent('{"data_id":7}')}`,
  };
  const narrow: BenchmarkResult[] = [];
  for (const [name, path] of Object.entries(narrowLists)) {
    const value = await medianOf(load, path);
    narrow.push(result(`first page ${name} ${at}`, { value, unit: 'ms' }, { atMost: 20 }));
  }
  return [
    result(
      `slowest first page of ${times.size} lists ${at}`,
      { value: slowest[0]?.[1] ?? 0, unit: 'ms' },
      { atMost: 20 },
    ),
    ...narrow,
  ];
}

async function medianOf(load: HttpLoad, path: string): Promise<number> {
  await load.send(get(path));
  return median((await load.closedLoop(5, 1, () => get(path))).latenciesMs);
}

function get(path: string): LoadRequest {
  return { method: 'GET', path: `/v1/agl${path}`, body: null };
}
