import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { forkModule } from '../child-process.ts';
import type { EventLoopDelay } from '../scale/event-loop-lag.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Attacker } from './attacks.ts';

/** What a run of the example has learned, without times, and how fast. */
export interface MeasuredTraining {
  /** Steps per second, without the start and the evaluations of the run. */
  readonly speed: number;
  /** A line for each step. */
  readonly learned: readonly string[];
}

/** What an attacker has sent, with the number of responses with a status of 500 and more. */
export interface AttackCounts {
  readonly requests: number;
  readonly errors: number;
}

const agl = path.resolve(import.meta.dirname, '../../apps/trainer/dist/cli/main.js');
const lagModule = path.resolve(import.meta.dirname, '../scale/event-loop-lag.ts');

/** `agl server` with the embedded runtime, in a process whose event loop is measured. */
export class ServerUnderAttack implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: ReturnType<typeof temporaryFolder>;

  private constructor(url: string, child: ChildProcess, folder: ReturnType<typeof temporaryFolder>) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
  }

  static async start(): Promise<ServerUnderAttack> {
    const folder = temporaryFolder();
    const flags = ['--data', folder.path, '--port', '0', '--model', 'tiny-random', '--max-concurrent-runs', '2'];
    const child = spawn(process.execPath, ['--import', lagModule, agl, 'server', ...flags], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, MEASURED_PARENT: String(process.pid) },
    });
    for await (const line of createInterface({ input: child.stdout ?? Readable.from([]) })) {
      const event = line.startsWith('{') ? (JSON.parse(line) as { readonly type?: string; readonly url?: string }) : {};
      if (event.type === 'ready') return new ServerUnderAttack(String(event.url), child, folder);
    }
    throw new Error('agl server ended before it was ready');
  }

  /** Creates the trainer key of a project. */
  createTenant(project: string): Attacker {
    const flags = ['--data', this.#folder.path, '--name', project, '--role', 'trainer', '--project', project, '--json'];
    const output = execFileSync(process.execPath, [agl, 'keys', 'create', ...flags], { encoding: 'utf8' });
    return { url: this.url, key: (JSON.parse(output) as { readonly key: string }).key };
  }

  /** Measures the event loop of the server while work is done. */
  async measureDelay(work: () => Promise<unknown>): Promise<EventLoopDelay> {
    this.#child.send('start');
    await work();
    const message = once(this.#child, 'message');
    this.#child.send('read');
    const [delay] = await message;
    return delay as EventLoopDelay;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exited;
    this.#folder[Symbol.dispose]();
  }
}

/** Trains the example in a separate process. */
export async function trainExample({ url, key }: Attacker, steps: number): Promise<MeasuredTraining> {
  const script = path.resolve(import.meta.dirname, 'train-process.ts');
  const child = spawn(process.execPath, [script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, AGL_URL: url, AGL_KEY: key, STEPS: String(steps) },
  });
  const exited = once(child, 'exit');
  const learned: string[] = [];
  const timesMs: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    learned.push(line);
    timesMs.push(performance.now());
  }
  const [code] = await exited;
  if (code !== 0 || learned.length !== steps)
    throw new Error(`the run ended with ${String(code)} after ${learned.length} steps`);
  const seconds = ((timesMs.at(-1) ?? Number.NaN) - (timesMs[0] ?? Number.NaN)) / 1000;
  return { speed: (steps - 1) / seconds, learned };
}

/** Does work while a project attacks the server. */
export async function underAttack<TResult>(
  { url, key }: Attacker,
  work: () => Promise<TResult>,
): Promise<{ readonly result: TResult; readonly counts: AttackCounts }> {
  const attacker = await forkModule<'ready'>(path.resolve(import.meta.dirname, 'attack-process.ts'), [url, key]);
  try {
    const result = await work();
    return { result, counts: await attacker.request<AttackCounts>('read') };
  } finally {
    await attacker.close();
  }
}
