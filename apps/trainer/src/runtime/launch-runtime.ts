import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage, parse } from '@agentlightning/core/internal';
import { lastOutput, OutputTail } from '@agentlightning/runner/internal/workers';
import { z } from 'zod';

/** A training runtime that this process has started. */
export interface LaunchedRuntime {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** The API key of its gRPC server and of its model API; random for every process. */
  readonly apiKey: string;
  /** Its process id. */
  readonly pid: number;
  /** Resolves with the error when the process ends unexpectedly. */
  readonly died: Promise<AgentLightningError>;
  /** Stops the process, and resolves when it has ended. */
  close(): Promise<void>;
}

/** A command that serves a runtime until its standard input ends, and whose first line has the type `ready`. */
export interface RuntimeCommand {
  /** For messages: `the embedded runtime`. */
  readonly name: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** The key that it requires. */
  readonly apiKey: string;
  /** Time limit for its start, in milliseconds. */
  readonly startTimeoutMs: number;
  /** Time limit for its end before it is killed, in milliseconds. */
  readonly closeTimeoutMs: number;
  /** What to do after its unexpected end. */
  readonly remedy: string;
  /** Called with each line of its standard error. @default ignored */
  readonly onLine?: (line: string) => void;
}

/** The first output line of a runtime. */
const readyLine = z.object({ type: z.literal('ready'), address: z.string() });

/**
 * Starts a runtime in a separate process. The process ends when its standard input closes, so it does not outlive this one.
 *
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not start
 */
export async function launchRuntime(options: RuntimeCommand): Promise<LaunchedRuntime> {
  const { command, environment, apiKey, closeTimeoutMs, onLine } = options;
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: environment,
    // Not interrupted by Ctrl+C: the trainer finishes the current step before it stops the runtime.
    detached: process.platform !== 'win32',
  });
  // A broken pipe is ignored: the exit of the process is reported.
  child.stdin.on('error', () => undefined);
  const output = new OutputTail(child.stderr, onLine);
  let isClosing = false;
  let startError: unknown;
  const ended = once(child, 'exit').catch((error: unknown) => {
    startError = error;
  });
  const died = new Promise<AgentLightningError>((resolve) => {
    void ended.then(() => {
      const lines = startError === undefined ? output.lines : [String(startError)];
      if (!isClosing) resolve(exitError(child, options, lines));
    });
  });
  const close = async (): Promise<void> => {
    isClosing = true;
    child.stdin.end();
    const timer = setTimeout(() => child.kill('SIGKILL'), closeTimeoutMs);
    await ended;
    clearTimeout(timer);
  };
  try {
    const thrown = died.then((error) => Promise.reject(error));
    const address = await Promise.race([readAddress(child.stdout, options), thrown]);
    return { address, apiKey, pid: child.pid ?? 0, died, close };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

async function readAddress(output: Readable, { name, startTimeoutMs, remedy }: RuntimeCommand): Promise<string> {
  const lines = createInterface({ input: output });
  try {
    const [line] = await once(lines, 'line', { signal: AbortSignal.timeout(startTimeoutMs) });
    return parse(readyLine, JSON.parse(String(line)), `the first line of ${name}`).address;
  } catch (cause) {
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `${name} did not start: ${errorMessage(cause)}`,
      remedy,
      cause,
    });
  } finally {
    lines.close();
    output.resume();
  }
}

function exitError(
  child: ChildProcess,
  { name, remedy }: RuntimeCommand,
  lines: readonly string[],
): AgentLightningError {
  const how = child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`;
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `${name} (process ${child.pid ?? '?'}) ended with ${how}${lastOutput(lines)}`,
    remedy,
  });
}
