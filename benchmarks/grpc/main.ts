/**
 * `pnpm bench grpc [--rounds 15]`: the cost of sending a batch of one million tokens to a training runtime on the same machine:
 * bytes per token, CPU time of the sender's event loop, and the duration until a no-op operation after it is acknowledged.
 * Beside it, in the same run, the same batch as JSON over HTTP and as `repeated` fields over gRPC.
 *
 * @module
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import { median } from '../middle.ts';
import { type BenchmarkResult, type Bound, report, result } from '../report.ts';
import { jsonWay } from './json-way.ts';
import { millionTokens, tokensOf } from './million-tokens.ts';
import { packedWay } from './packed-way.ts';
import { repeatedWay } from './repeated-way.ts';
import type { Way } from './way.ts';

const { values: flags } = parseArgs({ options: { rounds: { type: 'string', default: '15' } } });
const rounds = Number(flags.rounds);
const warmUps = 3;

interface Ports {
  readonly address: string;
  readonly jsonPort: number;
  readonly repeatedPort: number;
}

/** What one sending cost. */
interface Cost {
  readonly bytes: number;
  /** Processor time of the sender's thread, which nothing else of the process can use meanwhile, in milliseconds. */
  readonly busyMs: number;
  /** From the call to the answer, in milliseconds. */
  readonly wallMs: number;
}

async function costOf(way: Way, batch: TrainingBatch): Promise<Cost> {
  const before = process.threadCpuUsage();
  const startedAtMs = performance.now();
  const bytes = await way.send(batch);
  const wallMs = performance.now() - startedAtMs;
  // A turn of the loop, so that what is still queued for this one counts.
  await new Promise((resolve) => setImmediate(resolve));
  const { user, system } = process.threadCpuUsage(before);
  return { bytes, wallMs, busyMs: (user + system) / 1_000 };
}

/** The ways take turns, so that whatever else the machine does falls on all of them. */
async function measure(ways: readonly Way[], batch: TrainingBatch): Promise<ReadonlyMap<Way, readonly Cost[]>> {
  const costs = new Map<Way, Cost[]>(ways.map((way) => [way, []]));
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [way, list] of costs) {
      const cost = await costOf(way, batch);
      if (round >= 0) list.push(cost);
    }
  }
  return costs;
}

const receiver = fork(path.join(import.meta.dirname, 'receiver.ts'), { execArgv: process.execArgv });
const [ports]: [Ports] = (await once(receiver, 'message')) as [Ports];
const ways = [await packedWay(ports.address), repeatedWay(ports.repeatedPort), jsonWay(ports.jsonPort)];
const results: BenchmarkResult[] = [];
try {
  for (const fraction of [0.1, 0.24, 1]) {
    const batch = millionTokens(fraction);
    const isMeasuredCase = fraction === 0.24;
    for (const [way, costs] of await measure(ways, batch)) {
      const name = `${way.name}, ${fraction * 100} % trained`;
      const bound = (atMost: number): Bound => (way === ways[0] && isMeasuredCase ? { atMost } : null);
      const bytesPerToken = median(costs.map(({ bytes }) => bytes)) / tokensOf(batch);
      results.push(result(`${name}: bytes a token`, { value: bytesPerToken, unit: 'B' }, bound(5.2)));
      // A mean, because systems count processor time in steps longer than this.
      const busyMs = costs.reduce((sum, cost) => sum + cost.busyMs, 0) / costs.length;
      results.push(result(`${name}: sender's thread`, { value: busyMs, unit: 'ms' }, bound(15)));
      const wallMs = median(costs.map((cost) => cost.wallMs));
      results.push(result(`${name}: end to end`, { value: wallMs, unit: 'ms' }, null));
    }
  }
} finally {
  for (const way of ways) await way.close();
  receiver.disconnect();
}
report('grpc', results);
