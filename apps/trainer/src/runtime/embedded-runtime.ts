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
import { randomApiKey, writeKeyFile } from '@agentlightning/runtime-cpu';
import { z } from 'zod';

/** A training runtime that this process has started. */
export interface LaunchedRuntime {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** The API key of its gRPC server and of its model API; random for every process. */
  readonly apiKey: string;
  /** Its process, so that an operator (or a test) can find it. */
  readonly pid: number;
  /** Resolves with the reason when the process ends without having been asked to. */
  readonly died: Promise<AgentLightningError>;
  /** Asks the process to end and waits for it. */
  close(): Promise<void>;
}

/** What the runtime process says on its first line of output. */
const readyLine = z.object({ event: z.literal('ready'), address: z.string() });

/** How long the process may take to come up, on a machine that may be busy. */
const startTimeoutMs = 60_000;

/** How long the process may take to end when it is asked to, before it is killed. */
const closeTimeoutMs = 5000;

/**
 * Starts the embedded CPU runtime in a process of its own. The process ends by itself when this one
 * dies, since it watches its standard input. Its API key is handed over in a file that only this user can read.
 *
 * @param options.checkpointDir - where it keeps checkpoints
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not come up
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
    // Ctrl+C is for the trainer, which ends the step under way before it ends its runtime.
    detached: process.platform !== 'win32',
  });
  // A pipe to a process that has died breaks; its exit says so already.
  child.stdin.on('error', () => undefined);
  const lastWords = keepLastLines(child.stderr);
  let isClosing = false;
  const ended = once(child, 'exit').catch((error: unknown) => void lastWords.push(String(error)));
  const died = new Promise<AgentLightningError>((resolve) => {
    void ended.then(() => {
      if (!isClosing) resolve(lostError(child, lastWords));
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

/** The flags of this process that say how modules are found; others, such as `--eval`, are not for another program. */
function resolutionFlags(flags: readonly string[]): readonly string[] {
  return flags.flatMap((flag, index) => {
    if (flag.startsWith('--conditions=')) return [flag];
    return flag === '--conditions' || flag === '-C' ? flags.slice(index, index + 2) : [];
  });
}

async function readAddress(output: Readable): Promise<string> {
  const lines = createInterface({ input: output });
  try {
    const [line] = await once(lines, 'line', { signal: AbortSignal.timeout(startTimeoutMs) });
    return parse(readyLine, JSON.parse(String(line)), 'the first line of the embedded runtime').address;
  } catch (cause) {
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `the embedded runtime did not come up: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    });
  } finally {
    lines.close();
    output.resume();
  }
}

function keepLastLines(errors: Readable): string[] {
  const lines: string[] = [];
  createInterface({ input: errors }).on('line', (line) => {
    lines.push(line);
    if (lines.length > 20) lines.shift();
  });
  return lines;
}

function lostError(child: ChildProcess, lastWords: readonly string[]): AgentLightningError {
  const how = child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`;
  const words = lastWords.length === 0 ? '' : `; it last said: ${lastWords.slice(-3).join(' / ')}`;
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `the embedded runtime (process ${child.pid ?? '?'}) ended with ${how}${words}`,
    remedy: 'Go on from the last checkpoint with `agl train --resume <run>`: the runtime is started again.',
  });
}
