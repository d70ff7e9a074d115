import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { assertDocumentedOutput } from './documented-output.ts';

/** A line of `agl train --json`, or the `ready` line of a server. */
export type AglEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The summary of an event that has one. */
export function summaryOf(event: AglEvent | undefined): Readonly<Record<string, unknown>> {
  return (event?.['summary'] ?? {}) as Readonly<Record<string, unknown>>;
}

/** The step of an event. */
export function stepOf(event: AglEvent): unknown {
  return summaryOf(event)['step'] ?? event['step'];
}

const sources = [
  process.execPath,
  '--conditions=@agentlightning/source',
  path.resolve(import.meta.dirname, '../src/cli/main.ts'),
];

/** How it is started. */
interface AglProcessOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly output?: number | null;
  /** A command that runs another one, such as in another network. */
  readonly prefix?: readonly string[];
  /** Starts `agl`. @default Node.js with the sources */
  readonly command?: readonly string[];
}

/** The `agl` command in a separate process. */
export class AglProcess implements AsyncDisposable {
  readonly events: AglEvent[] = [];
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #args: readonly string[];
  #stderr = '';
  #output = '';
  #onEvent: () => void = () => undefined;

  /** `env` is added to the environment of this process; `output` is an open file for its output, which is not read. */
  constructor(
    args: readonly string[],
    { cwd, env = {}, output = null, prefix = [], command = sources }: AglProcessOptions = {},
  ) {
    this.#args = args;
    const [program = '', ...rest] = [...prefix, ...command, ...args];
    this.#child = spawn(program, rest, {
      stdio: ['ignore', output ?? 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env },
    });
    this.#exited = once(this.#child, 'close');
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
    }
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString();
    });
    this.#child.once('close', () => this.#onEvent());
  }

  /** What it wrote to standard error so far. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Whether it has ended. */
  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** What it wrote to standard output so far. */
  get output(): string {
    return this.#output;
  }

  /** The processes it has started, as Linux knows them. */
  childPids(): readonly number[] {
    const pid = this.#child.pid ?? 0;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  }

  /** Resolves with the first event that fits; rejects when the process ends without one. */
  async event(name: string, fits: (event: AglEvent) => boolean = () => true): Promise<AglEvent> {
    for (;;) {
      const found = this.events.find((event) => event.type === name && fits(event));
      if (found !== undefined) return found;
      if (this.hasExited) throw new Error(`agl ended (${this.#child.exitCode}) before "${name}": ${this.#stderr}`);
      await new Promise<void>((resolve) => {
        this.#onEvent = resolve;
      });
    }
  }

  /** Ends it without any chance to clean up, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** What Ctrl+C does. */
  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  /** What a service manager does to stop it. */
  terminate(): void {
    this.#child.kill('SIGTERM');
  }

  /** Waits for the end; the exit code. Rejects if the output of `--json` is not as documented. */
  async exitCode(): Promise<number | null> {
    await this.#exited;
    assertDocumentedOutput(this.#args, this.#output);
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasExited) await this.kill();
  }

  #take(line: string): void {
    this.#output += `${line}\n`;
    this.events.push(line.startsWith('{"') ? (JSON.parse(line) as AglEvent) : { type: 'text', line });
    this.#onEvent();
  }
}
