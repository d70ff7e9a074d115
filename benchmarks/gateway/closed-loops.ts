import { type BenchmarkResult, result } from '../report.ts';
import { measureInTurns } from '../rounds.ts';
import { median, quantile } from '../statistics.ts';
import { closedLoop, type Load, type Requests, requestsTo } from './load.ts';
import type { GatewayProcess, Peer, ServerProcess } from './processes.ts';

/** The compared servers. */
export interface Sides {
  readonly directUrl: string;
  readonly gateway: GatewayProcess;
  /** The minimal recording proxy. */
  readonly floor: ServerProcess;
  /** The installed proxies of other projects. */
  readonly peers: readonly Peer[];
}

/** The result of one load on one side. */
interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstByteMs: number;
  /** CPU time of the proxy per call, in milliseconds; NaN for direct calls. */
  readonly cpuMs: number;
}

type SideName = 'direct' | 'gateway' | Peer['name'];

/** The results of one load on every side, by round. */
type Rounds = Readonly<Record<SideName, readonly Measured[]>>;

/** One load and its results. */
interface MeasuredLoad {
  /** Its name in results. */
  readonly at: string;
  readonly measured: Rounds;
  readonly inFlight: number;
  readonly isStreamed: boolean;
}

/** A side with its requests; no CPU time for direct calls. */
interface Side {
  readonly name: SideName;
  readonly requests: Requests;
  readonly cpuMs: (() => number) | null;
}

/** Minimum ratio to a peer's throughput at 64 in flight. */
const targets: Readonly<Partial<Record<SideName, number>>> = { 'agl-server': 12 };

const manyInFlight: readonly number[] = [1, 16, 64, 256];

/** Clients that send their next call after a response: throughput and latency. */
export async function measureClosedLoops(
  sides: Sides,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  const before = (await sides.gateway.usage()).spanCount;
  let callCount = 0;
  for (const isStreamed of [false, true]) {
    const each = sidesOf(sides, isStreamed);
    const gateway = each.filter(({ name }) => name === 'gateway');
    for (const { requests } of gateway) callCount += (await closedLoop(requests, { inFlight: 64, seconds: 1.5 })).count;
    for (const inFlight of manyInFlight) {
      const samples = await measureInTurns(each, { rounds }, async ({ name, requests, cpuMs }) => {
        const beforeMs = cpuMs?.() ?? Number.NaN;
        const load = await closedLoop(requests, { inFlight, seconds });
        if (name === 'gateway') callCount += load.count;
        return ofLoad(load, ((cpuMs?.() ?? Number.NaN) - beforeMs) / load.count);
      });
      const measured: Rounds = { direct: [], gateway: [], 'agl-server': [], LiteLLM: [] };
      for (const [{ name }, loads] of samples) Object.assign(measured, { [name]: loads });
      const at = `${isStreamed ? 'streamed' : 'whole'}, ${inFlight} in flight`;
      results.push(...describe({ at, measured, inFlight, isStreamed }));
    }
  }
  const recorded = (await sides.gateway.usage()).spanCount - before;
  results.push(result('calls that are in the store', { value: recorded / callCount, unit: 'share' }, { atLeast: 1 }));
  return results;
}

function sidesOf({ directUrl, gateway, peers }: Sides, isStreamed: boolean): readonly Side[] {
  const more = isStreamed ? { stream: true } : {};
  return [
    { name: 'direct', requests: requestsTo([directUrl], more), cpuMs: null },
    { name: 'gateway', requests: requestsTo(gateway.urls, more), cpuMs: gateway.cpuMs },
    ...peers
      .filter(({ hasStreams }) => hasStreams || !isStreamed)
      .map(({ name, url, key, cpuMs }) => ({ name, requests: requestsTo([url], more, key), cpuMs })),
  ];
}

function ofLoad(load: Load, cpuMs: number): Measured {
  return {
    perSecond: load.perSecond,
    p50Ms: quantile(load.latencies, 0.5),
    p99Ms: quantile(load.latencies, 0.99),
    firstByteMs: quantile(load.firstBytes, 0.5),
    cpuMs,
  };
}

function describe(load: MeasuredLoad): BenchmarkResult[] {
  const { at, measured, isStreamed } = load;
  const middle = (side: SideName, field: keyof Measured): number => median(measured[side].map((one) => one[field]));
  const added = (field: 'p50Ms' | 'p99Ms'): number => middle('gateway', field) - middle('direct', field);
  const row = (name: string, value: number, unit: string): BenchmarkResult =>
    result(`${at}: ${name}`, { value, unit }, null);
  return [
    row('direct', middle('direct', 'perSecond'), 'calls/s'),
    row('gateway', middle('gateway', 'perSecond'), 'calls/s'),
    row('added p50', added('p50Ms'), 'ms'),
    row('added p99', added('p99Ms'), 'ms'),
    row('gateway CPU for a call', middle('gateway', 'cpuMs'), 'ms'),
    ...(isStreamed
      ? [row('added to first token', middle('gateway', 'firstByteMs') - middle('direct', 'firstByteMs'), 'ms')]
      : []),
    ...describePeer('agl-server', load),
    ...describePeer('LiteLLM', load),
  ];
}

function describePeer(name: Peer['name'], { at, measured, inFlight }: MeasuredLoad): BenchmarkResult[] {
  const peer = measured[name];
  if (peer.length === 0) return [];
  const middle = (of: (one: Measured) => number): number => median(peer.map(of));
  const direct = median(measured.direct.map(({ p50Ms }) => p50Ms));
  // Of the same round.
  const ratio = (of: (gateway: Measured, other: Measured) => number): number =>
    median(measured.gateway.flatMap((one, round) => peer.slice(round, round + 1).map((other) => of(one, other))));
  const times = ratio((one, other) => one.perSecond / other.perSecond);
  const target = inFlight === 64 ? targets[name] : undefined;
  const row = (what: string, value: number, unit: string): BenchmarkResult =>
    result(`${at}: ${what}`, { value, unit }, null);
  return [
    row(
      name,
      middle(({ perSecond }) => perSecond),
      'calls/s',
    ),
    row(`${name} added p50`, middle(({ p50Ms }) => p50Ms) - direct, 'ms'),
    row(
      `${name} CPU for a call`,
      middle(({ cpuMs }) => cpuMs),
      'ms',
    ),
    result(
      `${at}: gateway to ${name}`,
      { value: times, unit: 'times' },
      target === undefined ? null : { atLeast: target },
    ),
    row(
      `${name} CPU to gateway CPU`,
      ratio((one, other) => other.cpuMs / one.cpuMs),
      'times',
    ),
  ];
}
