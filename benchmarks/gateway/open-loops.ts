import { median } from '../middle.ts';
import { type BenchmarkResult, result } from '../report.ts';
import { closedLoop, openLoop, quantile } from './load.ts';
import type { Peer } from './peer.ts';
import { requestsTo, type Sides } from './sides.ts';

const perSecond = 500;

/**
 * Where the targets come from, `agl-server` adds 1.3 ms to one call at a time. What it adds here, in the same round, says how
 * fast the machine is in this hour, as a machine that others share is a third as fast in some hours as in others.
 */
const targetsPeer = { name: 'agl-server', addsMs: 1.3 } as const;
const targetsMs = { p50: 0.5, p99: 3 } as const;

/** Milliseconds between the parts of a stream, as a model of 200 tokens a second and 5 tokens a part has them. */
const paceMs = 25;

/**
 * Calls that come at a fixed rate, whether or not earlier ones are answered: what each of them waits for beyond what it
 * waits for anyway, queueing included. And how long each part of paced streams is under way from the model to the agent.
 */
export async function measureOpenLoops(
  { directUrl, gateway, peers }: Sides,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
): Promise<BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  const peer = peers.find(({ name }) => name === targetsPeer.name);
  for (const isStreamed of [false, true]) {
    const more = isStreamed ? { stream: true } : {};
    const added: { p50: number; p99: number }[] = [];
    const addedByPeer: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const direct = await openLoop(requestsTo([directUrl], more), { perSecond, seconds });
      const through = await openLoop(requestsTo(gateway.urls, more), { perSecond, seconds });
      const difference = (share: number): number =>
        quantile(through.latencies, share) - quantile(direct.latencies, share);
      added.push({ p50: difference(0.5), p99: difference(0.99) });
      if (peer !== undefined) addedByPeer.push(await addedToOneAtATime(peer, { directUrl, seconds: seconds / 2 }));
    }
    const name = `${isStreamed ? 'streamed' : 'whole'}, ${perSecond} calls/s`;
    for (const what of ['p50', 'p99'] as const) {
      const value = median(added.map((one) => one[what]));
      results.push(result(`${name}: added ${what}`, { value, unit: 'ms' }, { atMost: targetsMs[what] }));
      if (peer === undefined) continue;
      const ofPeer = { value: value / median(addedByPeer), unit: 'times' };
      const bound = { atMost: Number((targetsMs[what] / targetsPeer.addsMs).toFixed(2)) };
      results.push(result(`${name}: added ${what}, to what ${peer.name} adds to a whole call alone`, ofPeer, bound));
    }
  }
  return [...results, ...(await measurePassages({ directUrl, gateway }, { seconds, rounds }))];
}

/** The median of what a peer adds to whole calls, one at a time, in milliseconds. */
async function addedToOneAtATime(
  peer: Peer,
  { directUrl, seconds }: { readonly directUrl: string; readonly seconds: number },
): Promise<number> {
  const load = { inFlight: 1, seconds };
  const direct = await closedLoop(requestsTo([directUrl]), load);
  const through = await closedLoop(requestsTo([peer.url], {}, peer.key), load);
  return quantile(through.latencies, 0.5) - quantile(direct.latencies, 0.5);
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
