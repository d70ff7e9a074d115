import { type BenchmarkResult, result } from '../report.ts';
import { measureInTurns } from '../rounds.ts';
import { median, quantile } from '../statistics.ts';
import type { Sides } from './closed-loops.ts';
import { closedLoop, openLoop, requestsTo } from './load.ts';

const perSecond = 500;

/** Maximum ratio of the latency added by the gateway to that added by the floor proxy, in the same round. */
const targetRatios = { p50: 2, p99: 3 } as const;

/** Minimum added latency in ratios, in milliseconds: smaller values are noise. */
const leastAddedMs = 0.05;

/** Milliseconds between stream chunks, as of a model with 200 tokens per second and 5 tokens per chunk. */
const paceMs = 25;

interface Latencies {
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
  const urls = { direct: [directUrl], gateway: gateway.urls, floor: [floor.url] };
  const results: BenchmarkResult[] = [];
  for (const isStreamed of [false, true]) {
    const more = isStreamed ? { stream: true } : {};
    const samples = await measureInTurns(['direct', 'gateway', 'floor'] as const, { rounds }, async (side) => {
      const { latencies } = await openLoop(requestsTo(urls[side], more), { perSecond, seconds });
      return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
    });
    const added = (side: 'gateway' | 'floor', what: keyof Latencies): number[] =>
      differences(samples.get(side) ?? [], samples.get('direct') ?? [], what).map((ms) => Math.max(leastAddedMs, ms));
    const name = `${isStreamed ? 'streamed' : 'whole'}, ${perSecond} calls/s: added`;
    for (const what of ['p50', 'p99'] as const) {
      const ofGateway = added('gateway', what);
      const ofFloor = added('floor', what);
      const ratio = median(ofGateway.map((ms, round) => ms / (ofFloor[round] ?? Number.NaN)));
      results.push(
        result(`${name} ${what}`, { value: median(ofGateway), unit: 'ms' }, null),
        result(`${name} ${what} by the floor proxy`, { value: median(ofFloor), unit: 'ms' }, null),
        result(
          `${name} ${what}, gateway to floor proxy`,
          { value: ratio, unit: 'times' },
          { atMost: targetRatios[what] },
        ),
      );
    }
  }
  return [...results, ...(await measurePacedStreams({ directUrl, gateway }, { seconds, rounds }))];
}

/** The differences of two sides by round. */
function differences(
  side: readonly Latencies[],
  direct: readonly Latencies[],
  what: keyof Latencies,
): readonly number[] {
  return side.map((sample, round) => sample[what] - (direct[round]?.[what] ?? Number.NaN));
}

async function measurePacedStreams(
  { directUrl, gateway }: Pick<Sides, 'directUrl' | 'gateway'>,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<BenchmarkResult[]> {
  const more = { stream: true, pace_ms: paceMs };
  const requests = { direct: requestsTo([directUrl], more), gateway: requestsTo(gateway.urls, more) };
  const load = { inFlight: 16, seconds: seconds / 2 };
  const samples = await measureInTurns(['direct', 'gateway'] as const, { rounds }, (side) =>
    closedLoop(requests[side], load),
  );
  const added = (figure: (of: Awaited<ReturnType<typeof closedLoop>>) => number): number => {
    const direct = samples.get('direct')?.map(figure) ?? [];
    return median(samples.get('gateway')?.map((sample, round) => figure(sample) - (direct[round] ?? Number.NaN)) ?? []);
  };
  const first = added(({ firstChunkLatencies }) => quantile(firstChunkLatencies, 0.5));
  const p50 = added(({ chunkLatencies }) => quantile(chunkLatencies, 0.5));
  const p99 = added(({ chunkLatencies }) => quantile(chunkLatencies, 0.99));
  const at = 'paced streams, 16 in flight';
  return [
    result(`${at}: first token passes in`, { value: first, unit: 'ms' }, { atMost: 1 }),
    result(`${at}: every part passes in, p50`, { value: p50, unit: 'ms' }, null),
    result(`${at}: every part passes in, p99`, { value: p99, unit: 'ms' }, null),
  ];
}
