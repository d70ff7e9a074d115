import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const program = join(import.meta.dirname, '../fixtures/store-server-process.ts');

/** A store server in a separate process that can be killed and restarted on the same port. */
export class KillableServer implements AsyncDisposable {
  readonly #location: string;
  #port = 0;
  #child: ChildProcess | null = null;

  constructor(location: string) {
    this.#location = location;
  }

  /** Where it listens: the same place after every start. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts it, and resolves when it listens. */
  async start(): Promise<void> {
    const child = spawn(
      process.execPath,
      ['--conditions=@agentlightning/source', program, this.#location, String(this.#port)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    ) as ChildProcess & { readonly stdout: Readable };
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout })) {
      this.#port = Number(line);
      return;
    }
    throw new Error(`the store server on port ${this.#port} ended before it listened`);
  }

  /** Kills it as `kill -9` does, and resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
