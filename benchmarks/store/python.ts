import path from 'node:path';
import { interopEnvironments, preparePython } from '../../tools/python-environment.ts';
import { startLineProgram } from '../child-process.ts';
import { type BenchmarkResult, result } from '../report.ts';
import { HttpLoad } from './http-load.ts';
import type { Throughput } from './throughput.ts';
import { claims, singleSpans } from './workload.ts';

/** Program of the interop tests that starts the Python server. */
const peerProgram = path.resolve(import.meta.dirname, '../../packages/store/test/interop/peer.py');

/**
 * Applies the same load to the Python package's server, which keeps its data in memory only. It has no batches: its client
 * sends spans one by one.
 */
export async function measurePython(
  givenPython: string | undefined,
  ours: Throughput,
): Promise<readonly BenchmarkResult[]> {
  const environment =
    givenPython === undefined
      ? await preparePython(interopEnvironments['agentlightning 0.3.0'])
      : { python: givenPython };
  if ('missing' in environment) {
    console.log(`Not compared with the Python package: ${environment.missing}.`);
    return [];
  }
  const server = startLineProgram(environment.python, ['-u', peerProgram, 'server']);
  const { url } = JSON.parse(await server.nextLine()) as { readonly url: string };
  const load = new HttpLoad(url);
  try {
    await singleSpans(load, 200, 64);
    const spans = (await singleSpans(load, 2000, 64)).perSecond;
    await claims(load, 200, 1000);
    const claimed = (await claims(load, 2000, 1000)).perSecond;
    return [
      result('Python 0.3: spans, 64 clients', { value: spans, unit: 'spans/s' }, null),
      result('Python 0.3: claims, 1,000 workers', { value: claimed, unit: 'claims/s' }, null),
      result('many spans, ours to Python', { value: ours.batchedSpans / spans, unit: 'x' }, { atLeast: 20 }),
      result('spans one by one, ours to Python', { value: ours.singleSpans / spans, unit: 'x' }, null),
      result('claims, ours to Python', { value: ours.claims / claimed, unit: 'x' }, { atLeast: 10 }),
    ];
  } finally {
    load.close();
    await server.close();
  }
}
