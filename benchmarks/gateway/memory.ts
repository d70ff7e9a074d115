import { type BenchmarkResult, result } from '../report.ts';
import { closedLoop, requestsTo } from './load.ts';
import type { GatewayProcess, Usage } from './processes.ts';

/** Maximum memory growth over a million calls; a leak per call would exceed it many times. */
const maxGrowthMb = 64;

const partCount = 10;

/** Growth of the gateway's memory, extrapolated to a million calls. */
export async function measureMemory(gateway: GatewayProcess, calls: number): Promise<BenchmarkResult[]> {
  const requests = [requestsTo(gateway.urls), requestsTo(gateway.urls, { stream: true })];
  const samples: (Usage & { readonly calls: number })[] = [];
  let done = 0;
  for (let part = 0; part <= partCount; part += 1) {
    const target = (calls * part) / partCount;
    while (done < target) {
      for (const each of requests) done += (await closedLoop(each, { inFlight: 64, seconds: 0.5 })).count;
    }
    samples.push({ ...(await gateway.usage()), calls: done });
  }
  // Without the first parts, which compile and cache. The lowest value of each half: uncollected garbage is not growth.
  const settled = samples.slice(2);
  const halves = [settled.slice(0, settled.length / 2), settled.slice(settled.length / 2)] as const;
  const growth = (bytesOf: (usage: Usage) => number): number => {
    const [low, high] = halves.map((half) =>
      half.reduce((lowest, sample) => (bytesOf(sample) < bytesOf(lowest) ? sample : lowest)),
    );
    if (low === undefined || high === undefined) return Number.NaN;
    return (((bytesOf(high) - bytesOf(low)) / (high.calls - low.calls)) * 1e6) / 2 ** 20;
  };
  const last = samples.at(-1);
  const heap = { value: growth(({ heapBytes }) => heapBytes), unit: 'MB' };
  return [
    result('memory that JavaScript holds, more after 1,000,000 calls', heap, { atMost: maxGrowthMb }),
    result(
      'memory of the process, more after 1,000,000 calls',
      { value: growth(({ rssBytes }) => rssBytes), unit: 'MB' },
      null,
    ),
    result(
      `memory of the process after ${last?.calls ?? 0} calls`,
      { value: (last?.rssBytes ?? 0) / 2 ** 20, unit: 'MB' },
      null,
    ),
  ];
}
