/**
 * `pnpm bench trajectories [--rounds 7] [--no-python]`: CPU time from recorded model calls of finished rollouts to training
 * rows, beside the Python package 1.0 with the same events; and its growth with the number of tokens.
 *
 * @module
 */
import { collectTrajectories } from '@agentlightning/algorithms';
import { parseFlags } from '../flags.ts';
import { type BenchmarkResult, report, result } from '../report.ts';
import { measureInTurns } from '../rounds.ts';
import { median } from '../statistics.ts';
import { type PythonSide, startPythonSide } from './python-side.ts';
import { type Workload, type WorkloadSize, workloadOf } from './workload.ts';

const { rounds, 'no-python': noPython } = parseFlags({ rounds: 7, 'no-python': false });

const tools = { promptTokens: 600, responseTokens: 100, observationTokens: 50 };

/** Workloads of the comparison with Python. */
const compared: Readonly<Record<string, WorkloadSize>> = {
  '256 rollouts of 1 turn': { rollouts: 256, turns: 1, ...tools },
  '64 rollouts of 8 turns': { rollouts: 64, turns: 8, ...tools },
  '8 rollouts of 50 turns': { rollouts: 8, turns: 50, ...tools },
};

/** Each size has about four times the tokens of the previous one: more rollouts, more turns, or longer texts. */
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

/** Maximum growth of the time per token from the smallest to the largest size. */
const maxGrowth = 1.5;
const minRatio = 10;

/** CPU seconds to create the rows of a workload, repeated until they are measurable. */
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

/** CPU seconds of one round. */
interface Sample {
  readonly total: number;
  readonly adapter: number;
}

async function compare(python: PythonSide): Promise<readonly BenchmarkResult[]> {
  const results: BenchmarkResult[] = [];
  for (const [name, size] of Object.entries(compared)) {
    const workload = workloadOf(size);
    const measureOurs = async (): Promise<Sample> => ({ total: secondsOf(workload), adapter: 0 });
    const measurePython = async (): Promise<Sample> => {
      const { triplets, completed, adapter } = await python.measure(workload);
      return { total: triplets + completed + adapter, adapter };
    };
    const sides = [measureOurs, measurePython];
    const samples = await measureInTurns(sides, { rounds, warmUps: 1 }, (measure) => measure());
    const medianOf = (side: () => Promise<Sample>, field: keyof Sample): number =>
      median((samples.get(side) ?? []).map((sample) => sample[field]));
    const seconds = medianOf(measureOurs, 'total');
    const theirs = medianOf(measurePython, 'total');
    const adapter = medianOf(measurePython, 'adapter');
    results.push(
      result(`${name}: ours`, { value: seconds * 1000, unit: 'ms' }, null),
      result(`${name}: Python 1.0, events to rows`, { value: theirs * 1000, unit: 'ms' }, null),
      result(`${name}: of it its adapter alone`, { value: adapter * 1000, unit: 'ms' }, null),
      result(`${name}: Python to ours`, { value: theirs / seconds, unit: 'x' }, { atLeast: minRatio }),
      result(`${name}: its adapter alone to ours`, { value: adapter / seconds, unit: 'x' }, null),
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
const python = noPython ? { missing: '--no-python is set' } : await startPythonSide();
if ('missing' in python) console.log(`Not compared with the Python package: ${python.missing}.`);
else {
  results.unshift(...(await compare(python)));
  await python.close();
}
report('trajectories', results);
