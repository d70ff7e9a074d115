/**
 * `pnpm bench trajectories [--rounds 7] [--no-python]`: what it takes to make training rows of the recorded model calls of
 * finished rollouts, beside what the Python package 1.0 does with the same events; and whether time grows as tokens do.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { collectTrajectories } from '@agentlightning/algorithms';
import { median } from '../middle.ts';
import { type BenchmarkResult, report, result } from '../report.ts';
import { type PythonSide, startPythonSide } from './python-side.ts';
import { type Workload, type WorkloadSize, workloadOf } from './workload.ts';

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, 'no-python': { type: 'boolean', default: false } },
});
const rounds = Number(flags.rounds);

const tools = { promptTokens: 600, responseTokens: 100, observationTokens: 50 };

/** Rollouts that are compared with Python's. */
const compared: Readonly<Record<string, WorkloadSize>> = {
  '256 rollouts of 1 turn': { rollouts: 256, turns: 1, ...tools },
  '64 rollouts of 8 turns': { rollouts: 64, turns: 8, ...tools },
  '8 rollouts of 50 turns': { rollouts: 8, turns: 50, ...tools },
};

/** Each size has some four times the tokens of the one before; by more rollouts, by more turns, by longer texts. */
const growing: Readonly<Record<string, readonly WorkloadSize[]>> = {
  rollouts: [32, 128, 512].map((rollouts) => ({ rollouts, turns: 8, ...tools })),
  turns: [32, 64, 128, 256].map((turns) => ({ rollouts: 1, turns, ...tools, promptTokens: 75 })),
  'tokens of a turn': [1, 4, 16].map((times) => ({
    rollouts: 16,
    turns: 4,
    promptTokens: 600 * times,
    responseTokens: 100 * times,
    observationTokens: 50 * times,
  })),
};

/** How far the time for a token may grow from the smallest size to the largest. */
const maxGrowth = 1.5;
const minRatio = 10;

/** Seconds of processor time to make rows of a workload: of one round, repeated until it can be measured. */
function secondsOf({ groups }: Workload): number {
  const started = process.cpuUsage();
  let times = 0;
  let seconds = 0;
  while (seconds < 0.05) {
    collectTrajectories(groups);
    times += 1;
    const { user, system } = process.cpuUsage(started);
    seconds = (user + system) / 1e6;
  }
  return seconds / times;
}

async function compare(python: PythonSide): Promise<readonly BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  for (const [name, size] of Object.entries(compared)) {
    const workload = workloadOf(size);
    const ours: number[] = [];
    const theirs: number[] = [];
    const adapter: number[] = [];
    secondsOf(workload);
    await python.measure(workload, 1);
    for (let round = 0; round < rounds; round += 1) {
      ours.push(secondsOf(workload));
      for (const times of await python.measure(workload, 1)) {
        theirs.push(times.triplets + times.completed + times.adapter);
        adapter.push(times.adapter);
      }
    }
    const seconds = median(ours);
    results.push(
      result(`${name}: ours`, { value: seconds * 1000, unit: 'ms' }, null),
      result(`${name}: Python 1.0, events to rows`, { value: median(theirs) * 1000, unit: 'ms' }, null),
      result(`${name}: of it its adapter alone`, { value: median(adapter) * 1000, unit: 'ms' }, null),
      result(`${name}: Python to ours`, { value: median(theirs) / seconds, unit: 'x' }, { atLeast: minRatio }),
      result(`${name}: its adapter alone to ours`, { value: median(adapter) / seconds, unit: 'x' }, null),
    );
  }
  return results;
}

function growth(): readonly BenchmarkResult[] {
  return Object.entries(growing).flatMap(([what, sizes]) => {
    const workloads = sizes.map(workloadOf);
    for (const workload of workloads) secondsOf(workload);
    const perToken = workloads.map((workload) => {
      const seconds = Array.from({ length: rounds }, () => secondsOf(workload));
      return { tokens: workload.tokens, ns: (median(seconds) / workload.tokens) * 1e9 };
    });
    const [first] = perToken;
    const last = perToken.at(-1);
    return [
      ...perToken.map(({ tokens, ns }) =>
        result(`more ${what}: ${tokens.toLocaleString('en')} tokens`, { value: ns, unit: 'ns/token' }, null),
      ),
      result(
        `more ${what}: time for a token, largest to smallest`,
        { value: (last?.ns ?? Number.NaN) / (first?.ns ?? Number.NaN), unit: 'x' },
        { atMost: maxGrowth },
      ),
    ];
  });
}

const results: BenchmarkResult[] = [...growth()];
const python = flags['no-python'] ? { missing: 'it was not asked for' } : await startPythonSide();
if ('missing' in python) console.log(`Not compared with the Python package: ${python.missing}.`);
else {
  results.unshift(...(await compare(python)));
  await python.close();
}
report('trajectories', results);
