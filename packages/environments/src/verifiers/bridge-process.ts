import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import { z } from 'zod';
import { environmentFailure } from '../environment/environment-failure.ts';
import { guardProcess, hasProcessGroups } from '../process/process-guard.ts';

/** The program of a bridge, and the taskset that it loads. */
export interface BridgeProgram {
  /** The Python executable. */
  readonly python: string;
  /** The file of the program. */
  readonly program: string;
  /** The first line of its input; `id` names the taskset. */
  readonly request: JsonObject & { readonly id: string };
}

/** The result of a rollout. */
export type BridgeResult =
  | { readonly reward: number }
  | {
      readonly error: string;
      /** What failed: a model call, the task itself, or the environment. */
      readonly kind: 'model' | 'task' | 'environment';
      /** The HTTP status of a failed model call; null for other errors. */
      readonly status: number | null;
    };

const readySchema = z.union([
  z.object({ ready: z.literal(true) }),
  z.object({ error: z.string(), remedy: z.string() }),
]);

const resultSchema: z.ZodType<{ readonly rollout: number } & BridgeResult> = z.intersection(
  z.object({ rollout: z.int() }),
  z.union([
    // JSON of Python has NaN and infinities, which are invalid here.
    z.object({ reward: z.number() }),
    z.object({ error: z.string(), kind: z.enum(['model', 'task', 'environment']), status: z.int().nullable() }),
  ]),
);

interface Pending {
  readonly resolve: (result: BridgeResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Time limit of the start, in milliseconds: Python imports large packages. */
const startTimeoutMs = 180_000;

/** Time limit of reading what an ended program wrote, in milliseconds: a process of another group can hold its streams open. */
const drainTimeoutMs = 1000;

const maxOutputLength = 2000;

/**
 * A Python process that plays rollouts, with lines of JSON on its standard streams. It neither keeps this process running nor
 * outlives it.
 */
export class BridgeProcess {
  readonly #child: ChildProcess;
  readonly #program: BridgeProgram;
  readonly #pending: Map<number, Pending> = new Map();
  readonly #started: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #ended: PromiseWithResolvers<void> = Promise.withResolvers();
  #isReady = false;
  #rollouts = 0;
  #output = '';
  #failure: AgentLightningError | null = null;

  private constructor(program: BridgeProgram) {
    this.#program = program;
    // Python's buffer of its output would delay responses.
    this.#child = spawn(program.python, ['-u', program.program], { stdio: 'pipe', detached: hasProcessGroups });
    const { pid, stdin, stdout, stderr } = this.#child;
    const release = pid === undefined ? () => undefined : guardProcess(pid);
    this.#child.once('error', (error) => this.#fail(startFailure(program, error)));
    this.#child.once('exit', () => {
      // The programs that tasksets start remain, and hold the standard error.
      if (pid !== undefined && hasProcessGroups) endGroup(pid);
      release();
      const drain = setTimeout(() => {
        stdout?.destroy();
        stderr?.destroy();
      }, drainTimeoutMs);
      this.#child.once('close', () => clearTimeout(drain));
    });
    // After the exit, and what the program wrote last.
    this.#child.once('close', (code, signal) => {
      this.#fail(new Error(`it exited with ${signal ?? `code ${code}`}`));
      this.#ended.resolve();
    });
    stdin?.on('error', () => undefined);
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-maxOutputLength);
    });
    if (stdout !== null) createInterface({ input: stdout }).on('line', (line) => this.#receive(line));
    this.#child.unref();
    for (const stream of [stdin, stdout, stderr]) (stream as { unref?(): void } | null)?.unref?.();
  }

  /** Starts the program, which can play when it is {@link ready}. */
  static start(program: BridgeProgram): BridgeProcess {
    const bridge = new BridgeProcess(program);
    const late = new Error(`it has not loaded the taskset within ${startTimeoutMs} ms`);
    const timeout = setTimeout(() => bridge.#fail(late), startTimeoutMs);
    const stop = (): void => clearTimeout(timeout);
    bridge.ready.then(stop, stop);
    bridge.#send(program.request);
    return bridge;
  }

  /**
   * Resolves when the program has loaded the taskset.
   *
   * @throws AgentLightningError CONFIG when Python, its packages or the taskset are missing; ENVIRONMENT_FAILED with what it wrote last
   */
  get ready(): Promise<void> {
    return this.#started.promise;
  }

  /** Whether the program runs, and has not failed. */
  get isOpen(): boolean {
    return this.#failure === null && this.#isRunning;
  }

  /** Plays a rollout; an aborted signal cancels it. */
  async play(request: JsonObject, signal: AbortSignal): Promise<BridgeResult> {
    signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure;
    this.#rollouts += 1;
    const rollout = this.#rollouts;
    const cancel = (): void => {
      this.#send({ cancel: rollout });
      this.#pending.get(rollout)?.reject(signal.reason);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await new Promise<BridgeResult>((resolve, reject) => {
        this.#pending.set(rollout, { resolve, reject });
        this.#send({ ...request, rollout });
      });
    } finally {
      this.#pending.delete(rollout);
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Ends the program, and resolves when it has ended. */
  async close(): Promise<void> {
    this.#fail(new Error('it is closed'));
    await this.#ended.promise;
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #send(message: JsonObject): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  #receive(line: string): void {
    try {
      const message: unknown = JSON.parse(line);
      if (this.#isReady) {
        const { rollout, ...result } = parse(resultSchema, message, 'response of the bridge');
        this.#pending.get(rollout)?.resolve(result);
      } else {
        this.#load(parse(readySchema, message, 'first line of the bridge'));
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #load(response: z.infer<typeof readySchema>): void {
    if ('error' in response) {
      const { error, remedy } = response;
      const message = `Taskset "${this.#program.request.id}" of verifiers cannot be loaded: ${error}`;
      this.#fail(new AgentLightningError({ code: 'CONFIG', message, remedy }));
    } else {
      this.#isReady = true;
      this.#started.resolve();
    }
  }

  /** Ends the program and everything that waits for it. */
  #fail(cause: unknown): void {
    this.#failure ??= environmentFailure(this.#program.request.id, 'its Python process', {
      cause,
      output: this.#output,
    });
    this.#started.reject(this.#failure);
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    // With the programs that tasksets start.
    const { pid } = this.#child;
    if (pid === undefined) this.#ended.resolve();
    else if (this.#isRunning) endGroup(pid);
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(hasProcessGroups ? -pid : pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

function startFailure({ python }: BridgeProgram, cause: Error): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `Python cannot be started as ${python}: ${cause.message}`,
    remedy: 'Install Python 3.11 or newer, and set `python` to the executable of an environment with `verifiers`.',
    cause,
  });
}
