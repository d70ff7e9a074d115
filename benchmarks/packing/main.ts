/**
 * `pnpm bench packing [--rounds 3]`: training passes of the GPU runtime on one CPU thread over the same sequences: packed in
 * rows with common prefixes computed once, padded in rows of similar lengths, and each sequence alone.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { environment } from '../../apps/gpu-runtime/test/runtime-process.ts';
import { parseFlags } from '../flags.ts';
import { type BenchmarkResult, progress, report, result } from '../report.ts';
import { median } from '../statistics.ts';

/** Output of `passes.py`: by workload the tokens, and by method the seconds of each round. */
type Passes = Readonly<
  Record<
    string,
    { readonly tokens: number; readonly seconds: Readonly<Record<'packed' | 'padded' | 'alone', readonly number[]>> }
  >
>;

const { rounds } = parseFlags({ rounds: 3 });
if ('missing' in environment) {
  console.error(environment.missing);
  process.exit(2);
}
progress(`${rounds} rounds, and one before them that is not counted`);
const sources = path.resolve(import.meta.dirname, '../../apps/gpu-runtime/src');
const program = spawnSync(environment.python, [path.join(import.meta.dirname, 'passes.py'), String(rounds)], {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, PYTHONPATH: sources },
});
if (program.status !== 0) process.exit(program.status ?? 1);
report('packing', Object.entries(JSON.parse(program.stdout) as Passes).flatMap(resultsOf));

function resultsOf([workload, { tokens, seconds }]: [string, Passes[string]]): readonly BenchmarkResult[] {
  const packed = median(seconds.packed);
  const isShared = workload.includes('siblings');
  const ratioTo = (way: 'padded' | 'alone'): number => median(seconds[way]) / packed;
  return [
    result(`${workload}: packed`, { value: tokens / packed, unit: 'tokens/s' }, null),
    result(
      `${workload}: packed, against padded`,
      { value: ratioTo('padded'), unit: 'x' },
      { atLeast: isShared ? 2.5 : 1.5 },
    ),
    result(`${workload}: packed, against each alone`, { value: ratioTo('alone'), unit: 'x' }, null),
  ];
}
