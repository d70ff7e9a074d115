/**
 * `pnpm bench adapters [--only ai-sdk] [--rounds 30] [--calls 100000]`: what each adapter adds to a model call, with the
 * real framework and a model that answers at once; what many calls in one rollout do; and how big the packages are.
 *
 * @module
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { measureSizes } from '../../tools/verify/measure-sizes.ts';
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
/** What is measured for comparison: a whole run, of which a model call is only a part. */
const comparisons: ReadonlySet<string> = new Set(['openai-agents-run']);

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: frameworks },
    rounds: { type: 'string', default: '30' },
    calls: { type: 'string', default: '100000' },
  },
});

/** Limit of the time that an adapter adds to a call beyond any telemetry listener, in microseconds. */
const maxAddedUs = 70;
/** The slope of the heap's size is never quite nothing. Whatever is kept for each call has more bytes than this. */
const maxHeapBytesPerCall = 40;
const maxSlowdown = 1.2;

async function measure(framework: string): Promise<AdapterMeasurement> {
  const program = path.join(import.meta.dirname, 'measure-adapter.ts');
  const child = fork(program, [framework, flags.rounds, flags.calls], { execArgv: ['--expose-gc'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The measurement of ${framework} ended with exit code ${code}, and said nothing.`);
  });
  const [measurement] = (await Promise.race([once(child, 'message'), ended])) as [AdapterMeasurement];
  ended.catch(() => {});
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
    ...us('of it in a quarter of the rounds at most', lower, null),
    ...us('of it in a quarter of the rounds at least', upper, null),
    ...us("of it by the framework's own telling, to a listener that does nothing", ofFramework, null),
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
