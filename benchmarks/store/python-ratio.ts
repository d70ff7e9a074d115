import { interopEnvironments, preparePython } from '../../tools/python-environment.ts';
import { type BenchmarkResult, result } from '../report.ts';
import { HttpLoad } from './http-load.ts';
import { startPythonServer } from './python-server.ts';
import type { Throughput } from './throughput.ts';
import { claims, singleSpans } from './workload.ts';

/**
 * Puts the same load on the Python package's server, which holds everything in memory only. It has no batches: its
 * own client sends many spans one by one, and ours sends them in batches.
 */
export async function measurePython(
  givenPython: string | undefined,
  ours: Throughput,
): Promise<readonly BenchmarkResult[]> {
  // The interop tests know how to install it, apart from everything else.
  const environment =
    givenPython === undefined
      ? await preparePython(interopEnvironments['agentlightning 0.3.0'])
      : { python: givenPython };
  if ('missing' in environment) {
    console.log(`Not compared with the Python package: ${environment.missing}.`);
    return [];
  }
  const server = await startPythonServer(environment.python);
  const load = new HttpLoad(server.url);
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
