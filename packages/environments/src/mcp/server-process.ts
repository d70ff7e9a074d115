import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { ReadBuffer, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { guardProcess, hasProcessGroups } from './process-guard.ts';

/**
 * The program of an MCP server. `{folder}` in `args`, `env` and `cwd` stands for a new folder, which is removed with the server: use it for
 * servers that write files.
 */
export interface ServerCommand {
  /** The program, such as `npx`. */
  readonly command: string;
  /** @default none */
  readonly args?: readonly string[];
  /**
   * Variables of its environment, beside the few that every program needs, such as `PATH` and `HOME`.
   *
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /** Its working directory. @default that of this process */
  readonly cwd?: string;
}

/** A server that listens for streamable HTTP. */
export interface ServerUrl {
  /** Such as `http://127.0.0.1:3001/mcp`. */
  readonly url: string;
  /** Headers of each request, such as an authorisation. @default none */
  readonly headers?: Readonly<Record<string, string>>;
}

type Message = Parameters<Transport['send']>[0];

/** Waits for a server to end after its input, then after SIGTERM, in milliseconds. */
const [endMs, terminateMs] = [500, 1000];

const maxOutputLength = 2000;

/**
 * The standard streams of an MCP server as a transport. Unlike that of the SDK it runs the server in a separate process group, which
 * it ends as a whole, so that programs started by `npx` end too; and the group ends when this process is killed.
 */
export class ServerProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: Message) => void;
  readonly #server: ServerCommand;
  readonly #buffer: ReadBuffer = new ReadBuffer();
  #child: ChildProcess | null = null;
  #output = '';
  #closing: Promise<void> | null = null;

  constructor(server: ServerCommand) {
    this.#server = server;
  }

  /** The end of what the server wrote to its standard error. */
  get output(): string {
    return this.#output;
  }

  /** The process id; null before the start and after the end. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  async start(): Promise<void> {
    const { command, args = [], env = {}, cwd } = this.#server;
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...getDefaultEnvironment(), ...env },
      detached: hasProcessGroups,
      windowsHide: true,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    const release = guardProcess(child.pid ?? 0);
    child.on('error', (error) => this.onerror?.(error));
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-maxOutputLength);
    });
    child.once('exit', (code, signal) => {
      this.#endGroup(child, 'SIGKILL');
      release();
      this.#child = null;
      if (this.#closing === null) this.#output += ` (it exited with ${signal ?? `code ${code}`})`;
    });
    // After what it wrote last.
    child.once('close', () => this.onclose?.());
  }

  async send(message: Message): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw notRunning();
    await new Promise<void>((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null) return;
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const within = async (ms: number): Promise<boolean> => {
      const stop = new AbortController();
      const isExited = exited.then(() => true);
      const isLate = sleep(ms, false, { signal: stop.signal }).catch(() => false);
      const result = await Promise.race([isExited, isLate]);
      stop.abort();
      return result;
    };
    child.stdin?.end();
    if (await within(endMs)) return;
    this.#endGroup(child, 'SIGTERM');
    if (await within(terminateMs)) return;
    this.#endGroup(child, 'SIGKILL');
    await exited;
  }

  #endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
    if (pid === undefined) return;
    try {
      process.kill(hasProcessGroups ? -pid : pid, signal);
    } catch {
      // It has ended.
    }
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      // A message is longer than the buffer: what follows cannot be read.
      this.#output += ` (${errorMessage(error)})`;
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }
}

function notRunning(): AgentLightningError {
  return new AgentLightningError({ code: 'ENVIRONMENT_FAILED', message: 'The MCP server is not running' });
}
