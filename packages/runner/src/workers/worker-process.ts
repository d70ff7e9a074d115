import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { env } from 'node:process';
import type { Readable } from 'node:stream';
import type { AgentLightningError } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { type ClaimedAttempt, ClaimedAttempts, type WorkerServices } from './claimed-attempts.ts';
import { errorFromIpc, errorToIpc } from './ipc-error.ts';
import { OutputTail } from './output-tail.ts';
import {
  type ExitReport,
  exitReportFd,
  exitReportSchema,
  type SupervisorMessage,
  type WorkerMessage,
  type WorkerSettings,
  workerMessageSchema,
} from './worker-messages.ts';

/** The program of a worker process. */
export interface WorkerProgram {
  /** The module that calls `serveWorker`. */
  readonly entry: string;
  /** Arguments of the program. */
  readonly args: readonly string[];
  /**
   * Names of the environment variables that agents get, besides the basic ones of the system and of Node.js. Keys and secrets
   * of Agent Lightning are never passed on. @default all others
   */
  readonly environment?: readonly string[] | null;
}

/** Options of a worker process. */
export interface WorkerProcessOptions {
  readonly program: WorkerProgram;
  readonly settings: WorkerSettings;
  readonly services: WorkerServices;
  /** Called with each line that agents write. */
  readonly onOutput: (line: string) => void;
  /** Called with errors outside the outcome of an attempt. */
  readonly onError: (error: AgentLightningError) => void;
  /** Called once when an agent still runs, although its attempt has ended. */
  readonly onStuck: (rolloutId: string) => void;
}

/** The end of a worker process. */
export interface WorkerEnd {
  readonly pid: number;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly exitReport: ExitReport | null;
  /** Whether the supervisor killed it because its event loop was blocked. */
  readonly isBlocked: boolean;
  /** The last lines on standard error, oldest first. */
  readonly stderr: readonly string[];
  /** The attempts that it has not ended. */
  readonly attempts: readonly ClaimedAttempt[];
  /** The error that ended it; null for another end. */
  readonly fatal: AgentLightningError | null;
}

/** Interval of event loop checks, in milliseconds. */
const tickMs = 500;

/** Duration of a blocked event loop after which its process is killed, in milliseconds. */
const minSilentMs = 3000;

/** Grace period after the timeout of an attempt in a blocked process, in milliseconds: the process ends itself before. */
const timeoutGraceMs = 2000;

/** Timeout for loading an agent, in milliseconds. */
const loadTimeoutMs = 120_000;

/** Maximum wait for the output of an ended process, in milliseconds: descendants may hold it open. */
const outputTimeoutMs = 1000;

/** A process that runs agents, as the leader of its process group. */
export class WorkerProcess {
  /** Resolves when its agent is loaded; also when it ends before. */
  readonly loaded: Promise<void>;
  /** Resolves when it has ended, with all its descendants. */
  readonly ended: Promise<WorkerEnd>;
  readonly #options: WorkerProcessOptions;
  readonly #child: ChildProcess;
  readonly #attempts: ClaimedAttempts;
  readonly #stderr: OutputTail;
  #silentMs = 0;
  #memoryBytes = 0;
  #isLoaded = false;
  #hasEndedAttempts = false;
  #isStuck = false;
  #isBlocked = false;
  #fatal: AgentLightningError | null = null;
  #onLoaded: () => void = () => undefined;

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    this.#attempts = new ClaimedAttempts(options.services);
    const { entry, args, environment = null } = options.program;
    const child = spawn(process.execPath, [...nodeFlags(process.execArgv), entry, ...args], {
      // The last one is for what it writes synchronously before it ends.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
      env: agentEnvironment(env, environment),
      serialization: 'advanced',
      detached: process.platform !== 'win32',
    });
    this.#child = child;
    // Each of the pipes is there: `spawn` throws otherwise.
    new OutputTail(child.stdout as Readable, options.onOutput);
    this.#stderr = new OutputTail(child.stderr as Readable, options.onOutput);
    const exitReports = new OutputTail(child.stdio[exitReportFd] as Readable);
    this.loaded = new Promise((resolve) => {
      this.#onLoaded = resolve;
    });
    child.on('message', (message) => this.#receive(message));
    this.ended = this.#end(exitReports);
  }

  /** Whether one of its attempts has ended before it. */
  get hasEndedAttempts(): boolean {
    return this.#hasEndedAttempts;
  }

  /** Its last reported resident memory, in bytes. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** The attempts that it runs. */
  get attempts(): readonly ClaimedAttempt[] {
    return this.#attempts.all;
  }

  /** Starts claiming. */
  start(): void {
    this.#send({ type: 'start', settings: this.#options.settings });
  }

  /** Claims nothing more, and returns attempts that run longer than this to the queue, in milliseconds. */
  stop(graceMs: number): void {
    this.#send({ type: 'stop', graceMs });
  }

  /** Ends the process and its descendants. */
  kill(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }

  async #end(exitReports: OutputTail): Promise<WorkerEnd> {
    const child = this.#child;
    const ticks = setInterval(() => this.#tick(), tickMs);
    const loading = setTimeout(() => this.kill(), loadTimeoutMs);
    void this.loaded.then(() => clearTimeout(loading));
    const closed = once(child, 'close').catch(() => undefined);
    await once(child, 'exit').catch((error: unknown) => {
      this.#fatal = errorFromIpc(errorToIpc(error));
    });
    clearInterval(ticks);
    this.kill();
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, outputTimeoutMs).unref())]);
    this.#onLoaded();
    await this.#attempts.close();
    return {
      pid: child.pid ?? 0,
      exitCode: child.exitCode,
      signal: child.signalCode,
      exitReport: readExitReport(exitReports),
      isBlocked: this.#isBlocked,
      stderr: this.#stderr.lines,
      attempts: this.#attempts.all,
      fatal: this.#fatal,
    };
  }

  /** Counted in ticks of this process, so that time in which the machine is suspended does not count. */
  #tick(): void {
    this.#silentMs += tickMs;
    if (!this.#isLoaded || this.#silentMs < minSilentMs) return;
    const overdueMs = systemClock.now() - timeoutGraceMs;
    if (!this.#attempts.all.some(({ deadlineMs }) => deadlineMs !== null && deadlineMs < overdueMs)) return;
    this.#isBlocked = true;
    this.kill();
  }

  #receive(received: unknown): void {
    this.#silentMs = 0;
    const parsed = workerMessageSchema.safeParse(received);
    // A message of the agent.
    if (!parsed.success) return;
    const message: WorkerMessage = parsed.data;
    switch (message.type) {
      case 'beat':
        this.#memoryBytes = message.memoryBytes;
        break;
      case 'loaded':
        this.#isLoaded = true;
        this.#onLoaded();
        break;
      case 'call':
        void this.#perform(message);
        break;
      case 'cancel':
        this.#attempts.cancel(message.id);
        break;
      case 'attempt-ended':
        this.#hasEndedAttempts = true;
        this.#attempts.ended(message.attemptId);
        break;
      case 'stuck':
        if (!this.#isStuck) this.#options.onStuck(message.rolloutId);
        this.#isStuck = true;
        break;
      case 'error':
        this.#fail(errorFromIpc(message.error), message.isFatal);
    }
  }

  #fail(error: AgentLightningError, isFatal: boolean): void {
    if (isFatal) this.#fatal = error;
    else this.#options.onError(error);
  }

  async #perform({ id, method, args }: Extract<WorkerMessage, { readonly type: 'call' }>): Promise<void> {
    try {
      this.#send({ type: 'result', id, value: await this.#attempts.perform(id, method, args) });
    } catch (error) {
      this.#send({ type: 'error', id, error: errorToIpc(error) });
    }
  }

  #send(message: SupervisorMessage): void {
    // Errors are ignored: its end is reported.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }
}

function readExitReport(exitReports: OutputTail): ExitReport | null {
  const [line] = exitReports.lines;
  if (line === undefined) return null;
  try {
    return exitReportSchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

/** Variables with a key or secret of Agent Lightning: of the store, server, gateway, runtime, and of attempt tokens. */
const ownCredential = /^(?:AGL|AGENTLIGHTNING)_\w*(?:KEY|SECRET|TOKEN)$/i;

/** Variables that agents get in addition to a list: of the system, of Node.js, and of the permission to send keys without TLS. */
const basicVariable =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|USERPROFILE|APPDATA|LOCALAPPDATA|PATHEXT|COMSPEC|NODE_\w+|AGL_ALLOW_INSECURE_KEYS)$/i;

/** Variables of Node.js and its package managers with a credential, such as `NODE_AUTH_TOKEN`. */
const nodeCredential = /^NODE_\w*(?:KEY|SECRET|TOKEN|PASSWORD|AUTH)$/i;

/**
 * The environment of agents: that of this process, without the credentials of Agent Lightning. Agents have attempt tokens.
 *
 * @param names - the only variables besides the basic ones; null for all
 */
function agentEnvironment(environment: NodeJS.ProcessEnv, names: readonly string[] | null): NodeJS.ProcessEnv {
  const isPassed = (name: string): boolean =>
    !ownCredential.test(name) &&
    (names === null || names.includes(name) || (basicVariable.test(name) && !nodeCredential.test(name)));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isPassed(name)));
}

/** Flags of Node that are of this process only: programs on the command line, the debugger, tests. */
const ownFlags =
  /^(?:-[ep]$|-pe$|--eval|--print|--inspect|--debug|--test|--watch|--check$|-c$|--interactive$|-i$|--input-type)/;

/** Own flags whose value is the next argument. */
const withValue = /^(?:-[ep]|-pe|--eval|--print)$/;

/** The flags of Node that a process with the same modules needs, such as preloaded modules and conditions. */
function nodeFlags(flags: readonly string[]): readonly string[] {
  return flags.filter((flag, index) => !ownFlags.test(flag) && !withValue.test(flags[index - 1] ?? ''));
}
