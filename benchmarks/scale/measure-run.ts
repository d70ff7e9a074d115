import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { cpuMsOf, forkModule } from '../child-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { EventLoopDelay } from './event-loop-lag.ts';

/** A run of `agl train` with a fake runtime. */
export interface MeasuredRunOptions {
  /** The arguments of Node that start `agl`. */
  readonly agl: readonly string[];
  readonly steps: number;
  /** Each has 8 rollouts. */
  readonly tasksPerStep: number;
  readonly concurrency: number;
  /** Median duration of a model call, in milliseconds, and the standard deviation of its logarithm. */
  readonly callMs: number;
  readonly sigma: number;
}

/** The trainer after a step. */
export interface MeasuredStep {
  /** Milliseconds since the start. */
  readonly timeMs: number;
  /** CPU time of the trainer's process so far, in milliseconds. */
  readonly cpuMs: number;
  /** Resident memory, in MB. */
  readonly rssMb: number;
}

/** Measurements of the trainer's process during collection and training. */
export interface MeasuredRun {
  readonly steps: readonly MeasuredStep[];
  /** The peak of its resident memory, in MB. */
  readonly peakMb: number;
  readonly delay: EventLoopDelay;
  /** Of an idle process at the same time. */
  readonly idleDelay: EventLoopDelay;
  /** The number of rollouts that could not be trained on. */
  readonly failed: number;
}

const lagModule = path.resolve(import.meta.dirname, 'event-loop-lag.ts');
const configFile = path.resolve(import.meta.dirname, 'scale.config.ts');

/** Runs `agl train`, and measures its process. */
export async function measureRun(options: MeasuredRunOptions): Promise<MeasuredRun> {
  const { agl, steps, tasksPerStep, concurrency, callMs, sigma } = options;
  const model = await forkModule<{ readonly address: string }>(path.resolve(import.meta.dirname, 'model-process.ts'), [
    String(callMs),
    String(sigma),
  ]);
  using folder = temporaryFolder();
  const environment = {
    ...process.env,
    MEASURED_PARENT: String(process.pid),
    SCALE_RUNTIME: model.ready.address,
    SCALE_STEPS: String(steps),
    SCALE_TASKS: String(tasksPerStep),
    SCALE_CONCURRENCY: String(concurrency),
  };
  const idle = fork(path.resolve(import.meta.dirname, 'idle.ts'), [], {
    execArgv: [...process.execArgv, '--import', lagModule],
    env: environment,
  });
  const trainer = spawn(
    process.execPath,
    ['--import', lagModule, ...agl, 'train', configFile, '--json', '--data-dir', folder.path],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], env: environment },
  );
  try {
    return await measure({ trainer, idle });
  } finally {
    if (trainer.exitCode === null && trainer.signalCode === null) trainer.kill('SIGKILL');
    idle.disconnect();
    await model.close();
  }
}

interface Processes {
  readonly trainer: ChildProcess;
  readonly idle: ChildProcess;
}

/** Follows the events of the trainer until it ends. Its delay is measured between the first and the last evaluation. */
async function measure({ trainer, idle }: Processes): Promise<MeasuredRun> {
  const exited = once(trainer, 'exit');
  const both = [trainer, idle];
  const steps: MeasuredStep[] = [];
  let failed = 0;
  let peakMb = 0;
  let delays: Promise<readonly EventLoopDelay[]> | null = null;
  for await (const line of createInterface({ input: trainer.stdout ?? Readable.from([]) })) {
    const { type, phase, summary } = parseEvent(line);
    if (type === 'warning' || type === 'failed') process.stderr.write(`${line.slice(0, 500)}\n`);
    if (type === 'evaluated' && phase === 'before') for (const each of both) each.send('start');
    if (type === 'evaluated' && phase === 'after') delays = Promise.all(both.map(readDelay));
    if (type !== 'stepped') continue;
    const { rssMb, peakMb: peak } = memoryOf(trainer);
    steps.push({ timeMs: performance.now(), cpuMs: cpuMsOf(trainer), rssMb });
    peakMb = peak;
    failed += failuresIn(summary?.metrics);
  }
  const [code] = await exited;
  const [delay, idleDelay] = (await delays) ?? [];
  // Without a delay, the run has not finished; the exit code is 1 when the reward did not rise.
  if (delay === undefined || idleDelay === undefined) {
    throw new Error(`agl train ended with ${String(code)} after ${steps.length} steps`);
  }
  return { steps, peakMb, delay, idleDelay, failed };
}

async function readDelay(child: ChildProcess): Promise<EventLoopDelay> {
  const message = once(child, 'message');
  child.send('read');
  const [delay] = await message;
  return delay as EventLoopDelay;
}

function memoryOf({ pid = 0 }: ChildProcess): { readonly rssMb: number; readonly peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  return { rssMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') };
}

function failuresIn(metrics: Readonly<Record<string, number>> = {}): number {
  const counts = Object.entries(metrics).filter(([name]) => name.startsWith('failures/'));
  return counts.reduce((sum, [, count]) => sum + count, 0);
}

interface AglEvent {
  readonly type?: string;
  readonly phase?: string;
  readonly summary?: { readonly metrics?: Readonly<Record<string, number>> };
}

function parseEvent(line: string): AglEvent {
  return line.startsWith('{"type"') ? (JSON.parse(line) as AglEvent) : {};
}
