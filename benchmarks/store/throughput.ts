import path from 'node:path';
import { type BenchmarkResult, progress, result } from '../report.ts';
import { median, quantile } from '../statistics.ts';
import { type BareResult, measureBareDatabase } from './bare-database.ts';
import { HttpLoad, type LoadResult } from './http-load.ts';
import { serve } from './serve.ts';
import { batchedSpans, claims, singleSpans } from './workload.ts';

/** Number of rounds. */
const rounds = 3;
/** Batches of a gateway under load. */
const batches = { batches: 200, perBatch: 500, clients: 4 } as const;
/** Number of measurements of batches per round, in turns with the bare database, since both vary most. */
const comparisons = 3;
const workers = 1000;
const mebibyte = 2 ** 20;
/** Maximum growth of a server's memory after 50 MiB of spans. */
const largestGrowthMebibytes = 32;

/** Spans and claims a second of one kind of store, over HTTP, each acknowledged when it is durable. */
export interface Throughput {
  readonly singleSpans: number;
  readonly batchedSpans: number;
  readonly claims: number;
}

/** A kind of store to measure. */
export interface MeasuredStore {
  readonly name: string;
  /** The location of the empty store of a round. */
  readonly locationOf: (round: number) => string | Promise<string>;
  /** Measures the bare database in the same round, directly after the batches. */
  readonly compare?: (round: number) => Promise<BareResult>;
  /** Share of the load, from 0 to 1; smaller for slower stores. */
  readonly share: number;
  /** Target for claims per second; null for none. */
  readonly claimsTarget: number | null;
}

/** Measures a kind of store in several rounds, each with an empty one. */
export async function measureThroughput(
  measured: MeasuredStore,
): Promise<{ readonly throughput: Throughput; readonly results: readonly BenchmarkResult[] }> {
  const outcomes: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    progress(`${measured.name}: round ${round + 1} of ${rounds}`);
    outcomes.push(await measureRound(measured, round));
  }
  const medianOf = (value: (round: Round) => number): number => median(outcomes.map(value));
  const batches = outcomes.flatMap(({ batched }) => batched);
  const throughput = {
    singleSpans: medianOf(({ singles }) => singles.perSecond),
    batchedSpans: median(batches.map(({ load }) => load.perSecond)),
    claims: medianOf(({ claimed }) => claimed.perSecond),
  };
  const { name, claimsTarget, compare } = measured;
  const bound = claimsTarget === null ? null : { atLeast: claimsTarget };
  return {
    throughput,
    results: [
      result(`${name}: spans one by one, 64 clients`, { value: throughput.singleSpans, unit: 'spans/s' }, null),
      result(`${name}: spans in batches of 500`, { value: throughput.batchedSpans, unit: 'spans/s' }, null),
      ...(compare === undefined ? [] : comparison(batches)),
      result(`${name}: claims, 1,000 workers`, { value: throughput.claims, unit: 'claims/s' }, bound),
      ...latencies(
        `${name}: span, 64 clients`,
        outcomes.flatMap(({ singles }) => singles.latenciesMs),
      ),
      ...latencies(
        `${name}: batch of 500 spans, 4 clients`,
        batches.flatMap(({ load }) => load.latenciesMs),
      ),
      ...latencies(
        `${name}: claim, 1,000 workers`,
        outcomes.flatMap(({ claimed }) => claimed.latenciesMs),
      ),
      result(`${name}: memory of the server`, { value: medianOf((round) => round.startMebibytes), unit: 'MiB' }, null),
      result(
        `${name}: growth by ${100_000 * measured.share} more spans`,
        { value: medianOf((round) => round.growthMebibytes), unit: 'MiB' },
        { atMost: largestGrowthMebibytes },
      ),
    ],
  };
}

/** Compares batches with the bare database. */
function comparison(batches: readonly MeasuredBatches[]): readonly BenchmarkResult[] {
  const medianOf = (value: (measured: MeasuredBatches, bare: BareResult) => number): number =>
    median(batches.flatMap((measured) => (measured.bare === null ? [] : [value(measured, measured.bare)])));
  const bare = medianOf((_, { spansPerSecond }) => spansPerSecond);
  const share = medianOf(({ load }, { spansPerSecond }) => load.perSecond / spansPerSecond);
  const cpu = medianOf(({ servingCpuPerSpanUs }) => servingCpuPerSpanUs);
  const bareCpu = medianOf((_, { cpuPerSpanUs }) => cpuPerSpanUs);
  return [
    result('bare SQLite: spans in batches of 500', { value: bare, unit: 'spans/s' }, null),
    result('batched ingest, of what bare SQLite does', { value: share, unit: 'x' }, { atLeast: 0.7 }),
    result('batched ingest: processor time of the serving thread', { value: cpu, unit: 'us/span' }, null),
    result('bare SQLite: processor time', { value: bareCpu, unit: 'us/span' }, null),
  ];
}

/** A measurement of batches, followed by one of the bare database. */
interface MeasuredBatches {
  readonly load: LoadResult;
  readonly servingCpuPerSpanUs: number;
  /** Null for a store without comparison. */
  readonly bare: BareResult | null;
}

interface Round {
  readonly singles: LoadResult;
  readonly batched: readonly MeasuredBatches[];
  readonly claimed: LoadResult;
  readonly startMebibytes: number;
  readonly growthMebibytes: number;
}

async function measureRound({ locationOf, compare, share }: MeasuredStore, round: number): Promise<Round> {
  const counted = { ...batches, batches: batches.batches * share };
  const store = await serve(await locationOf(round));
  const load = new HttpLoad(store.url);
  try {
    await singleSpans(load, 2000 * share, 64);
    const startBytes = await store.memoryBytes();
    const singles = await singleSpans(load, 10_000 * share, 64);
    await batchedSpans(load, { ...batches, batches: 60 * share });
    const batched: MeasuredBatches[] = [];
    for (let turn = 0; turn < comparisons; turn += 1) {
      const beforeCpuMs = await store.servingCpuMs();
      const result = await batchedSpans(load, counted);
      const cpuMs = (await store.servingCpuMs()) - beforeCpuMs;
      const servingCpuPerSpanUs = (cpuMs * 1000) / (counted.batches * counted.perBatch);
      batched.push({ load: result, servingCpuPerSpanUs, bare: compare === undefined ? null : await compare(round) });
    }
    const beforeGrowthBytes = await store.memoryBytes();
    await batchedSpans(load, counted);
    const growthBytes = (await store.memoryBytes()) - beforeGrowthBytes;
    await claims(load, 2000 * share, workers);
    const claimed = await claims(load, 10_000 * share, workers);
    return {
      singles,
      batched,
      claimed,
      startMebibytes: startBytes / mebibyte,
      growthMebibytes: growthBytes / mebibyte,
    };
  } finally {
    load.close();
    await store.close();
  }
}

/** Measures the bare database with the same batches. */
export function measureBare(folder: string, round: number): Promise<BareResult> {
  return measureBareDatabase(path.join(folder, `bare-${round}.db`), batches);
}

/** The median and the p99 of the latencies of a call. */
export function latencies(name: string, latenciesMs: readonly number[]): readonly BenchmarkResult[] {
  return [
    result(`${name}: p50`, { value: quantile(latenciesMs, 0.5), unit: 'ms' }, null),
    result(`${name}: p99`, { value: quantile(latenciesMs, 0.99), unit: 'ms' }, null),
  ];
}
