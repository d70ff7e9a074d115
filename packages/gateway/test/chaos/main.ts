/**
 * `pnpm chaos gateway [--requests 10000] [--seed 1]`: sends malformed requests to a gateway, half of them in front of a
 * faulty model server. Exits with 1 on internal errors, hangs and leaks.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { runFuzz } from './run-fuzz.ts';

// Heap sizes are only comparable after garbage collection.
setFlagsFromString('--expose-gc');
globalThis.gc = runInNewContext('gc');

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
});
const requests = Math.ceil(Number(values.requests) / 2);
const seed = Number(values.seed);
const startedMs = performance.now();
let isFine = true;
for (const isUpstreamOdd of [false, true]) {
  const onProgress = (done: number): void => {
    if (done % 1000 === 0)
      process.stderr.write(`${done}/${requests} with a ${isUpstreamOdd ? 'broken' : 'working'} model\n`);
  };
  const { findings, ...report } = await runFuzz({ requests, seed, isUpstreamOdd, onProgress });
  for (const finding of findings.slice(0, 20)) process.stderr.write(`FOUND: ${finding}\n`);
  isFine &&= findings.length === 0 && report.openSockets <= 0;
  process.stdout.write(`${JSON.stringify({ isUpstreamOdd, requests, seed, findings: findings.length, ...report })}\n`);
}
process.stderr.write(`Took ${Math.round((performance.now() - startedMs) / 1000)} s.\n`);
process.exit(isFine ? 0 : 1);
