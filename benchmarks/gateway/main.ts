/**
 * `pnpm bench gateway`: the overhead of the gateway on model calls, each recorded durably before the last byte of its
 * response: throughput, latency, time to the first token, CPU time and memory, streamed and whole. Beside it, in the same
 * run, the same calls made directly, through a minimal recording proxy (`floor-proxy.ts`), through `agl-server` of the Python
 * package if Python is installed, and through LiteLLM's proxy if installed. All are separate processes on one machine.
 *
 * @module
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type BenchmarkResult, report } from '../report.ts';
import { startAglServer } from './agl-server.ts';
import { measureClosedLoops } from './closed-loops.ts';
import { startLitellm } from './litellm.ts';
import { measureMemory } from './memory.ts';
import { measureOpenLoops } from './open-loops.ts';
import type { Peer } from './peer.ts';
import { startFloorProxy, startGateway, startUpstream } from './processes.ts';

const { values: flags } = parseArgs({
  options: {
    /** How long each load lasts, in seconds. */
    seconds: { type: 'string', default: '2' },
    /** How many times each load is applied; the median counts. */
    rounds: { type: 'string', default: '2' },
    /** How many calls the memory is watched over. */
    calls: { type: 'string', default: '40000' },
    /** Longer loads, and memory over 300,000 calls: about 15 minutes. */
    full: { type: 'boolean', default: false },
    /** Leaves out `agl-server` and LiteLLM. */
    'no-python': { type: 'boolean', default: false },
    /** LiteLLM's executable; omitted if missing. */
    litellm: { type: 'string', default: 'litellm' },
  },
});
const seconds = flags.full ? 8 : Number(flags.seconds);
const rounds = flags.full ? 3 : Number(flags.rounds);
const calls = flags.full ? 300_000 : Number(flags.calls);

const folder = mkdtempSync(path.join(tmpdir(), 'agl-bench-'));
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
  rmSync(folder, { recursive: true, force: true });
}
report('gateway', results);

/** One after another: what is started is stopped in the end, also when the next one does not start. */
async function startPeers(): Promise<void> {
  const aglServer = await startAglServer(upstream.url);
  if (aglServer !== null) peers.push(aglServer);
  const litellm = await startLitellm({ command: flags.litellm, upstreamUrl: upstream.url, folder });
  if (litellm !== null) peers.push(litellm);
}
