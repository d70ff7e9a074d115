import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AgentLightningError } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import { LastLines, lastOutput } from '@agentlightning/runner/workers';
import { randomApiKey, writeKeyFile } from '@agentlightning/runtime-cpu';
import { z } from 'zod';
import { resolutionFlags } from './resolution-flags.ts';

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

/** The first output line of the runtime process. */
const readyLine = z.object({ event: z.literal('ready'), address: z.string() });

/** Time limit for the start of the process, which may be slow on a busy machine. */
const startTimeoutMs = 60_000;

/** Time limit for the end of the process before it is killed. */
const closeTimeoutMs = 5000;

/**
 * Starts the embedded CPU runtime in a separate process. The process ends when its standard input closes, so it does not
 * outlive this one. It reads its API key from a file that only the current user can read.
 *
 * @param options.checkpointDir - its checkpoint directory
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not start
 */
export async function launchEmbeddedRuntime(options: { readonly checkpointDir: string }): Promise<LaunchedRuntime> {
  const entry = fileURLToPath(import.meta.resolve('@agentlightning/runtime-cpu/main'));
  const apiKey = randomApiKey();
  const keyFolder = await mkdtemp(path.join(tmpdir(), 'agl-key-'));
  const keyFile = path.join(keyFolder, 'runtime.key');
  await writeKeyFile(keyFile, apiKey);
  const ownFlags = ['--port', '0', '--dir', options.checkpointDir, '--key-file', keyFile];
  const flags = [...resolutionFlags(process.execArgv), entry, ...ownFlags];
  const child = spawn(process.execPath, flags, {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Not interrupted by Ctrl+C: the trainer finishes the current step before it stops the runtime.
    detached: process.platform !== 'win32',
  });
  // A broken pipe is ignored: the exit of the process is reported.
  child.stdin.on('error', () => undefined);
  const output = new LastLines(child.stderr);
  let isClosing = false;
  let startError: unknown;
  const ended = once(child, 'exit').catch((error: unknown) => {
    startError = error;
  });
  const died = new Promise<AgentLightningError>((resolve) => {
    void ended.then(() => {
      if (!isClosing) resolve(exitError(child, startError === undefined ? output.lines : [String(startError)]));
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
    const address = await Promise.race([readAddress(child.stdout), thrown]);
    return { address, apiKey, pid: child.pid ?? 0, died, close };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    await rm(keyFolder, { recursive: true, force: true });
  }
}

async function readAddress(output: Readable): Promise<string> {
  const lines = createInterface({ input: output });
  try {
    const [line] = await once(lines, 'line', { signal: AbortSignal.timeout(startTimeoutMs) });
    return parse(readyLine, JSON.parse(String(line)), 'the first line of the embedded runtime').address;
  } catch (cause) {
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `the embedded runtime did not start: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    });
  } finally {
    lines.close();
    output.resume();
  }
}

function exitError(child: ChildProcess, lastLines: readonly string[]): AgentLightningError {
  const how = child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`;
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `the embedded runtime (process ${child.pid ?? '?'}) ended with ${how}${lastOutput(lastLines)}`,
    remedy: 'Resume from the last checkpoint with `agl train --resume <run>`, which restarts the runtime.',
  });
}
