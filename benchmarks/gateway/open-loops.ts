import { median } from '../middle.ts';
import { type BenchmarkResult, result } from '../report.ts';
import { closedLoop, openLoop, quantile } from './load.ts';
import { requestsTo, type Sides } from './sides.ts';

const perSecond = 500;

/** How many times the latency that the floor proxy adds the gateway may add, in the same round. */
const targetRatios = { p50: 2, p99: 3 } as const;

/** The smallest added latency that a ratio is computed with, in milliseconds: below it, noise decides. */
const leastAddedMs = 0.05;

/** Milliseconds between the parts of a stream, as a model of 200 tokens a second and 5 tokens a part has them. */
const paceMs = 25;

interface Added {
  readonly p50: number;
  readonly p99: number;
}

/**
 * Calls at a fixed rate, independent of responses: the latency that the gateway and the floor proxy add, queueing
 * included. And the time of each chunk of paced streams from the model to the agent.
 */
export async function measureOpenLoops(
  { directUrl, gateway, floor }: Sides,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  for (const isStreamed of [false, true]) {
    const more = isStreamed ? { stream: true } : {};
    const added: { gateway: Added; floor: Added }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const direct = await openLoop(requestsTo([directUrl], more), { perSecond, seconds });
      const beyondDirect = async (urls: readonly string[]): Promise<Added> => {
        const { latencies } = await openLoop(requestsTo(urls, more), { perSecond, seconds });
        const difference = (share: number): number =>
          Math.max(leastAddedMs, quantile(latencies, share) - quantile(direct.latencies, share));
        return { p50: difference(0.5), p99: difference(0.99) };
      };
      added.push({ gateway: await beyondDirect(gateway.urls), floor: await beyondDirect([floor.url]) });
    }
    const name = `${isStreamed ? 'streamed' : 'whole'}, ${perSecond} calls/s: added`;
    for (const what of ['p50', 'p99'] as const) {
      const ofGateway = median(added.map((one) => one.gateway[what]));
      const ofFloor = median(added.map((one) => one.floor[what]));
      const ratio = median(added.map((one) => one.gateway[what] / one.floor[what]));
      results.push(
        result(`${name} ${what}`, { value: ofGateway, unit: 'ms' }, null),
        result(`${name} ${what} by the floor proxy`, { value: ofFloor, unit: 'ms' }, null),
        result(
          `${name} ${what}, gateway to floor proxy`,
          { value: ratio, unit: 'times' },
          { atMost: targetRatios[what] },
        ),
      );
    }
  }
  return [...results, ...(await measurePassages({ directUrl, gateway }, { seconds, rounds }))];
}

async function measurePassages(
  { directUrl, gateway }: Pick<Sides, 'directUrl' | 'gateway'>,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<BenchmarkResult[]> {
  const more = { stream: true, pace_ms: paceMs };
  const load = { inFlight: 16, seconds: seconds / 2 };
  const first: number[] = [];
  const all: { p50: number; p99: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const direct = await closedLoop(requestsTo([directUrl], more), load);
    const through = await closedLoop(requestsTo(gateway.urls, more), load);
    const difference = (share: number): number => quantile(through.passages, share) - quantile(direct.passages, share);
    first.push(quantile(through.firstPassages, 0.5) - quantile(direct.firstPassages, 0.5));
    all.push({ p50: difference(0.5), p99: difference(0.99) });
  }
  const at = 'paced streams, 16 in flight';
  return [
    result(`${at}: first token passes in`, { value: median(first), unit: 'ms' }, { atMost: 1 }),
    result(`${at}: every part passes in, p50`, { value: median(all.map(({ p50 }) => p50)), unit: 'ms' }, null),
    result(`${at}: every part passes in, p99`, { value: median(all.map(({ p99 }) => p99)), unit: 'ms' }, null),
  ];
}
