import { type BenchmarkResult, type Bound, median, result } from '../report.ts';
import { closedLoop, openLoop, quantile } from './load.ts';
import { requestsTo, type Sides } from './sides.ts';

const perSecond = 500;

/** Milliseconds between the parts of a stream, as a model of 200 tokens a second and 5 tokens a part has them. */
const paceMs = 25;

/**
 * Calls that come at a fixed rate, whether or not earlier ones are answered: what each of them waits for beyond what it
 * waits for anyway, queueing included. And how long each part of paced streams is under way from the model to the agent.
 */
export async function measureOpenLoops(
  { directUrl, gateway }: Sides,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  for (const isStreamed of [false, true]) {
    const more = isStreamed ? { stream: true } : {};
    const added: { p50: number; p99: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const direct = await openLoop(requestsTo([directUrl], more), { perSecond, seconds });
      const through = await openLoop(requestsTo(gateway.urls, more), { perSecond, seconds });
      const difference = (share: number): number =>
        quantile(through.latencies, share) - quantile(direct.latencies, share);
      added.push({ p50: difference(0.5), p99: difference(0.99) });
    }
    const name = `${isStreamed ? 'streamed' : 'whole'}, ${perSecond} calls/s`;
    const row = (what: 'p50' | 'p99', bound: Bound): BenchmarkResult =>
      result(`${name}: added ${what}`, { value: median(added.map((one) => one[what])), unit: 'ms' }, bound);
    results.push(row('p50', { atMost: 0.5 }), row('p99', { atMost: 3 }));
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
