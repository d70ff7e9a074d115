import { median } from '../middle.ts';
import { type BenchmarkResult, result } from '../report.ts';
import { closedLoop, type Load, quantile, type Requests } from './load.ts';
import type { Peer } from './peer.ts';
import { requestsTo, type Sides } from './sides.ts';

/** What one load showed of one side. */
interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstByteMs: number;
  /** CPU time of the proxy for a call, in milliseconds; NaN for direct calls. */
  readonly cpuMs: number;
}

type SideName = 'direct' | 'gateway' | Peer['name'];

/** What the rounds of one load showed of every side that is there. */
type Rounds = Readonly<Record<SideName, Measured[]>>;

/** One load, and what it showed. */
interface Seen {
  /** What results call it. */
  readonly at: string;
  readonly measured: Rounds;
  readonly inFlight: number;
  readonly isStreamed: boolean;
}

/** The least ratio to a peer's throughput at 64 in flight. */
const targets: Readonly<Partial<Record<SideName, number>>> = { 'agl-server': 12 };

const manyInFlight: readonly number[] = [1, 16, 64, 256];

/** Callers that call again when they have their answer: how many calls a second, and what they wait for. */
export async function measureClosedLoops(
  sides: Sides,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  const before = (await sides.gateway.usage()).spanCount;
  let callCount = 0;
  for (const isStreamed of [false, true]) {
    const more = isStreamed ? { stream: true } : {};
    const direct = requestsTo([sides.directUrl], more);
    const gateway = requestsTo(sides.gateway.urls, more);
    callCount += (await closedLoop(gateway, { inFlight: 64, seconds: 1.5 })).count;
    for (const inFlight of manyInFlight) {
      const measured: Rounds = { direct: [], gateway: [], 'agl-server': [], LiteLLM: [] };
      for (let round = 0; round < rounds; round += 1) {
        const load = { inFlight, seconds };
        measured.direct.push(ofLoad(await closedLoop(direct, load), Number.NaN));
        const through = await withCpu(sides.gateway, gateway, load);
        callCount += through.count;
        measured.gateway.push(through.measured);
        for (const peer of sides.peers) {
          if (isStreamed && !peer.hasStreams) continue;
          const { measured: seen } = await withCpu(peer, requestsTo([peer.url], more, peer.key), load);
          measured[peer.name].push(seen);
        }
      }
      const at = `${isStreamed ? 'streamed' : 'whole'}, ${inFlight} in flight`;
      results.push(...describe({ at, measured, inFlight, isStreamed }));
    }
  }
  const recorded = (await sides.gateway.usage()).spanCount - before;
  results.push(result('calls that are in the store', { value: recorded / callCount, unit: 'share' }, { atLeast: 1 }));
  return results;
}

async function withCpu(
  proxy: { cpuMs(): number },
  requests: Requests,
  load: { readonly inFlight: number; readonly seconds: number },
): Promise<{ readonly measured: Measured; readonly count: number }> {
  const before = proxy.cpuMs();
  const done = await closedLoop(requests, load);
  return { measured: ofLoad(done, (proxy.cpuMs() - before) / done.count), count: done.count };
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

function describe(seen: Seen): BenchmarkResult[] {
  const { at, measured, isStreamed } = seen;
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
    ...describePeer('agl-server', seen),
    ...describePeer('LiteLLM', seen),
  ];
}

function describePeer(name: Peer['name'], { at, measured, inFlight }: Seen): BenchmarkResult[] {
  const peer = measured[name];
  if (peer.length === 0) return [];
  const middle = (of: (one: Measured) => number): number => median(peer.map(of));
  const direct = median(measured.direct.map(({ p50Ms }) => p50Ms));
  // Of the same round, so that both had the same machine.
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
