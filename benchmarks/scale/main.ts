/**
 * `pnpm bench scale`: many rollouts in one `agl train`, with a model server in a separate process. First 1,000 rollouts at
 * a time: the delay of the trainer's event loop beside that of an idle process, and its memory. Then many rollouts in one
 * run: CPU time per rollout and memory in the first and the last tenth of the steps. `--rollouts 100000` is the full size.
 *
 * @module
 */
import path from 'node:path';
import { parseFlags } from '../flags.ts';
import { progress, report, result } from '../report.ts';
import { median } from '../statistics.ts';
import { type MeasuredRun, type MeasuredStep, measureRun } from './measure-run.ts';

const flags = parseFlags({ concurrent: 1000, rollouts: 4000 });

const agl = [path.resolve(import.meta.dirname, '../../apps/trainer/dist/cli/main.js')];
const groupSize = 8;

progress(`${flags.concurrent} rollouts at a time`);
const wide = await measureRun({
  agl,
  steps: 1,
  tasksPerStep: Math.ceil(flags.concurrent / groupSize),
  concurrency: flags.concurrent,
  callMs: 2000,
  sigma: 0.5,
});

progress(`${flags.rollouts} rollouts in one run`);
const tasksPerStep = 8;
const steps = Math.ceil(flags.rollouts / (tasksPerStep * groupSize));
// A limit of the heap, since V8 lets garbage grow before it collects it: with one, growth is that of live memory.
const long = await measureRun({
  agl: ['--max-old-space-size=256', ...agl],
  steps,
  tasksPerStep,
  concurrency: 64,
  callMs: 1,
  sigma: 0,
});

/** The first, without the start-up of the run, or the last tenth of the steps. */
function tenth(run: MeasuredRun, which: 'first' | 'last'): { readonly cpuMs: number; readonly rssMb: number } {
  const length = Math.max(2, Math.floor(run.steps.length / 10));
  const part = which === 'first' ? run.steps.slice(length, 2 * length + 1) : run.steps.slice(-length - 1);
  const between = (one: MeasuredStep | undefined, other: MeasuredStep | undefined): number =>
    (other?.cpuMs ?? Number.NaN) - (one?.cpuMs ?? Number.NaN);
  return {
    cpuMs: between(part[0], part.at(-1)) / ((part.length - 1) * tasksPerStep * groupSize),
    rssMb: median(part.map(({ rssMb }) => rssMb)),
  };
}

const [first, last] = [tenth(long, 'first'), tenth(long, 'last')];
report('scale', [
  result('concurrent rollouts that failed', { value: wide.failed, unit: 'rollouts' }, { atMost: 0 }),
  result('event loop delay, p50', { value: wide.delay.p50, unit: 'ms' }, null),
  result('event loop delay, p99', { value: wide.delay.p99, unit: 'ms' }, null),
  result('event loop delay, maximum', { value: wide.delay.max, unit: 'ms' }, null),
  result('event loop delay of an idle process, p99', { value: wide.idleDelay.p99, unit: 'ms' }, null),
  result('CPU time between two ticks, p99', { value: wide.delay.cpuP99, unit: 'ms' }, { atMost: 50 }),
  result('CPU time between two ticks of an idle process, p99', { value: wide.idleDelay.cpuP99, unit: 'ms' }, null),
  result('peak memory of the trainer', { value: wide.peakMb, unit: 'MB' }, { atMost: 600 }),
  result('rollouts of the long run that failed', { value: long.failed, unit: 'rollouts' }, { atMost: 0 }),
  result('CPU time per rollout, second tenth', { value: first.cpuMs, unit: 'ms' }, null),
  result('CPU time per rollout, last tenth', { value: last.cpuMs, unit: 'ms' }, null),
  result('growth of the CPU time', { value: last.cpuMs / first.cpuMs, unit: 'x' }, { atMost: 1.2 }),
  result('memory, second tenth', { value: first.rssMb, unit: 'MB' }, null),
  result('memory, last tenth', { value: last.rssMb, unit: 'MB' }, null),
  result('growth of the memory', { value: last.rssMb / first.rssMb, unit: 'x' }, { atMost: 1.2 }),
]);
