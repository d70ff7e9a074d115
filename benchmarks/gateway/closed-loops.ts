import { type BenchmarkResult, median, result } from '../report.ts';
import { closedLoop, type Load, quantile, type Requests } from './load.ts';
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

type SideName = 'direct' | 'gateway' | 'agl-server';

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
      const measured: Record<SideName, Measured[]> = { direct: [], gateway: [], 'agl-server': [] };
      for (let round = 0; round < rounds; round += 1) {
        const load = { inFlight, seconds };
        measured.direct.push(ofLoad(await closedLoop(direct, load), Number.NaN));
        const through = await withCpu(sides.gateway, gateway, load);
        callCount += through.count;
        measured.gateway.push(through.measured);
        const { python } = sides;
        if (python === null || isStreamed) continue;
        const peer = await withCpu(python, requestsTo([python.url]), load);
        measured['agl-server'].push(peer.measured);
      }
      results.push(...describe(`${isStreamed ? 'streamed' : 'whole'}, ${inFlight} in flight`, measured, inFlight));
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

function describe(at: string, measured: Record<SideName, Measured[]>, inFlight: number): BenchmarkResult[] {
  const middle = (side: SideName, field: keyof Measured): number => median(measured[side].map((one) => one[field]));
  const isStreamed = at.startsWith('streamed');
  const hasPeer = measured['agl-server'].length > 0;
  const added = (field: 'p50Ms' | 'p99Ms', side: SideName): number => middle(side, field) - middle('direct', field);
  const row = (name: string, value: number, unit: string): BenchmarkResult =>
    result(`${at}: ${name}`, { value, unit }, null);
  const ratio = median(measured.gateway.map(({ perSecond }, round) => perSecond / peerAt(measured, round).perSecond));
  const cpuRatio = median(measured.gateway.map(({ cpuMs }, round) => peerAt(measured, round).cpuMs / cpuMs));
  return [
    row('direct', middle('direct', 'perSecond'), 'calls/s'),
    row('gateway', middle('gateway', 'perSecond'), 'calls/s'),
    row('added p50', added('p50Ms', 'gateway'), 'ms'),
    row('added p99', added('p99Ms', 'gateway'), 'ms'),
    row('gateway CPU for a call', middle('gateway', 'cpuMs'), 'ms'),
    ...(isStreamed
      ? [row('added to first token', middle('gateway', 'firstByteMs') - middle('direct', 'firstByteMs'), 'ms')]
      : []),
    ...(hasPeer
      ? [
          row('agl-server', middle('agl-server', 'perSecond'), 'calls/s'),
          row('agl-server added p50', added('p50Ms', 'agl-server'), 'ms'),
          row('agl-server CPU for a call', middle('agl-server', 'cpuMs'), 'ms'),
          result(
            `${at}: gateway to agl-server`,
            { value: ratio, unit: 'times' },
            inFlight === 64 ? { atLeast: 25 } : null,
          ),
          row('agl-server CPU to gateway CPU', cpuRatio, 'times'),
        ]
      : []),
  ];
}

/** Of the same round, so that both had the same machine. */
function peerAt(measured: Record<SideName, Measured[]>, round: number): Measured {
  const none = Number.NaN;
  return measured['agl-server'][round] ?? { perSecond: none, p50Ms: none, p99Ms: none, firstByteMs: none, cpuMs: none };
}
