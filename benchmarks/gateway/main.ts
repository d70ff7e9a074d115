/**
 * `pnpm bench gateway`: the overhead of the gateway on model calls, each recorded durably before the last byte of its
 * response: throughput, latency, time to the first token, CPU time and memory, streamed and whole. Beside it, in the same
 * run, the same calls made directly, through a minimal recording proxy (`floor-proxy.ts`), through `agl-server` of the Python
 * package if Python is installed, and through LiteLLM's proxy if installed. All are separate processes on one machine.
 *
 * @module
 */
import path from 'node:path';
import { parseFlags } from '../flags.ts';
import { type BenchmarkResult, report } from '../report.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { measureClosedLoops } from './closed-loops.ts';
import { measureMemory } from './memory.ts';
import { measureOpenLoops } from './open-loops.ts';
import { type Peer, startAglServer, startFloorProxy, startGateway, startLitellm, startUpstream } from './processes.ts';

const flags = parseFlags({
  /** Duration of each load, in seconds. */
  seconds: 2,
  /** Number of times each load is applied; the median counts. */
  rounds: 2,
  /** Number of calls of the memory measurement. */
  calls: 40_000,
  /** Longer loads, and memory over 300,000 calls: about 15 minutes. */
  full: false,
  /** Leaves out `agl-server` and LiteLLM. */
  'no-python': false,
  /** LiteLLM's executable; omitted if missing. */
  litellm: 'litellm',
});
const seconds = flags.full ? 8 : flags.seconds;
const rounds = flags.full ? 3 : flags.rounds;
const calls = flags.full ? 300_000 : flags.calls;

using temporary = temporaryFolder();
const folder = temporary.path;
const upstream = await startUpstream();
const gateway = await startGateway({
  file: path.join(folder, 'agl.db'),
  upstreamUrl: upstream.url,
  attemptCount: 256,
});
const floor = await startFloorProxy(path.join(folder, 'floor.db'), upstream.url);
const peers: Peer[] = [];
const results: BenchmarkResult[] = [];
try {
  if (!flags['no-python']) await startPeers();
  const sides = { directUrl: upstream.url, gateway, floor, peers };
  results.push(...(await measureClosedLoops(sides, { seconds, rounds })));
  results.push(...(await measureOpenLoops(sides, { seconds: Math.max(4, 2 * seconds), rounds })));
  results.push(...(await measureMemory(gateway, calls)));
} finally {
  for (const peer of peers) await peer.close();
  await floor.close();
  await gateway.close();
  await upstream.close();
}
report('gateway', results);

/** Started sequentially, so that each is closed if the next one fails to start. */
async function startPeers(): Promise<void> {
  const aglServer = await startAglServer(upstream.url);
  if (aglServer !== null) peers.push(aglServer);
  const litellm = await startLitellm({ command: flags.litellm, upstreamUrl: upstream.url, folder });
  if (litellm !== null) peers.push(litellm);
}
