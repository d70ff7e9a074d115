/**
 * `pnpm bench adapters [--only ai-sdk] [--rounds 30] [--calls 100000]`: overhead of each adapter on a model call, with
 * the real framework and a model that responds at once; time and memory over many calls in one rollout; package sizes.
 *
 * @module
 */
import path from 'node:path';
import { measureSizes } from '../../tools/verify/measure-sizes.ts';
import { forkModule } from '../child-process.ts';
import { parseFlags } from '../flags.ts';
import { type BenchmarkResult, report, result } from '../report.ts';
import type { AdapterMeasurement } from './measure-adapter.ts';

const frameworks = [
  'fetch',
  'openai',
  'langchain',
  'openai-agents',
  'openai-agents-run',
  'ai-sdk',
  'ai-sdk-stream',
  'ai-sdk-6',
  'ai-sdk-6-stream',
];
/** Measured without a target: whole runs, of which a model call is only a part. */
const comparisons: ReadonlySet<string> = new Set(['openai-agents-run']);

const flags = parseFlags({ only: frameworks, rounds: 30, calls: 100_000 });

/** Limit of the time that an adapter adds to a call beyond any telemetry listener, in microseconds. */
const maxAddedUs = 70;
/** Noise of the heap growth; any object that is retained per call is larger. */
const maxHeapBytesPerCall = 40;
const maxSlowdown = 1.2;

async function measure(framework: string): Promise<AdapterMeasurement> {
  const module = path.join(import.meta.dirname, 'measure-adapter.ts');
  const args = [framework, String(flags.rounds), String(flags.calls)];
  const { ready: measurement, close } = await forkModule<AdapterMeasurement>(module, args);
  await close();
  return measurement;
}

function resultsOf(
  framework: string,
  { callUs, addedUs, sentQuartilesUs: [lower, upper], growth, spansPerCall }: AdapterMeasurement,
): BenchmarkResult[] {
  const us = (name: string, value: number | undefined, target: number | null): BenchmarkResult[] =>
    value === undefined
      ? []
      : [result(`${framework}: ${name}`, { value, unit: 'µs' }, target === null ? null : { atMost: target })];
  const ofFramework = addedUs.listened;
  const ofAdapter = ofFramework === undefined ? undefined : (addedUs.sent ?? Number.NaN) - ofFramework;
  return [
    ...us('a call without the adapter', callUs.bare, null),
    ...us('added outside of rollouts', addedUs.outside, null),
    ...us('added in a rollout that is only traced', addedUs.traced, null),
    ...us(
      'added in a rollout with an endpoint',
      addedUs.sent,
      comparisons.has(framework) || ofFramework !== undefined ? null : maxAddedUs,
    ),
    ...us('lower quartile of the rounds', lower, null),
    ...us('upper quartile of the rounds', upper, null),
    ...us('of it by the framework, with an empty listener', ofFramework, null),
    ...us('of it by the adapter', ofAdapter, comparisons.has(framework) ? null : maxAddedUs),
    ...us("added by the framework's own telemetry", addedUs.ownTelemetry, null),
    ...(addedUs.ownTelemetry === undefined || addedUs.traced === undefined
      ? []
      : [
          result(
            `${framework}: added when traced, against its own telemetry`,
            { value: addedUs.traced / addedUs.ownTelemetry, unit: '×' },
            { atMost: 1 },
          ),
        ]),
    result(`${framework}: spans of a call`, { value: spansPerCall, unit: 'spans' }, { atLeast: 1 }),
    result(
      `${framework}: heap kept for a call, over ${growth.calls} calls`,
      { value: growth.heapBytesPerCall, unit: 'B' },
      { atMost: maxHeapBytesPerCall },
    ),
    result(
      `${framework}: last tenth of the calls, against the first`,
      { value: growth.lastUs / growth.firstUs, unit: '×' },
      { atMost: maxSlowdown },
    ),
  ];
}

const results: BenchmarkResult[] = [];
for (const framework of flags.only) {
  process.stderr.write(`measuring ${framework}…\n`);
  results.push(...resultsOf(framework, await measure(framework)));
}
for (const { name, bytes, limitBytes } of await measureSizes()) {
  results.push(result(`size of ${name}`, { value: bytes, unit: 'B gzip' }, { atMost: limitBytes }));
}
report('adapters', results);
