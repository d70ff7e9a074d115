import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { AgentLightningError, parse } from '@agentlightning/core';
import { z } from 'zod';

/** A training runtime that this process has started. */
export interface LaunchedRuntime {
  /** `host:port` of its gRPC server. */
  readonly address: string;
  /** Its process, so that an operator (or a test) can find it. */
  readonly pid: number;
  /** Resolves with the reason when the process ends without having been asked to. */
  readonly died: Promise<AgentLightningError>;
  /** Asks the process to end and waits for it. */
  close(): Promise<void>;
}

/** What the runtime process says on its first line of output. */
const readyLine = z.object({ event: z.literal('ready'), address: z.string() });

/** How long the process may take to come up: it compiles its kernels first. */
const startTimeoutMs = 60_000;

/**
 * Starts the embedded CPU runtime in a process of its own. The process ends by itself when this one
 * dies, since it watches its standard input.
 *
 * @param options.checkpointDir - where it keeps checkpoints
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not come up
 */
export async function launchEmbeddedRuntime(options: { readonly checkpointDir: string }): Promise<LaunchedRuntime> {
  const entry = fileURLToPath(import.meta.resolve('@agentlightning/runtime-cpu/main'));
  const child = spawn(process.execPath, [...process.execArgv, entry, '--port', '0', '--dir', options.checkpointDir], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lastWords = keepLastLines(child);
  let isClosing = false;
  const ended = once(child, 'exit');
  const died = ended.then(async () =>
    isClosing ? await new Promise<never>(() => undefined) : lostError(child, lastWords),
  );
  const address = await Promise.race([readAddress(child), died, startTimeout()]);
  if (typeof address !== 'string') {
    child.kill('SIGKILL');
    throw address;
  }
  return {
    address,
    pid: child.pid ?? 0,
    died,
    close: async () => {
      isClosing = true;
      child.stdin?.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      if (child.exitCode === null && child.signalCode === null) await ended;
      clearTimeout(timer);
    },
  };
}

async function readAddress(child: ChildProcess): Promise<string> {
  if (child.stdout === null) return await new Promise<never>(() => undefined);
  for await (const line of createInterface({ input: child.stdout })) {
    child.stdout.resume();
    return parse(readyLine, JSON.parse(line), 'the first line of the embedded runtime').address;
  }
  return await new Promise<never>(() => undefined);
}

function keepLastLines(child: ChildProcess): readonly string[] {
  const lines: string[] = [];
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      if (lines.length > 20) lines.shift();
    });
  }
  return lines;
}

function lostError(child: ChildProcess, lastWords: readonly string[]): AgentLightningError {
  const how = child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`;
  const words = lastWords.length === 0 ? '' : `; it last said: ${lastWords.slice(-3).join(' / ')}`;
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `the embedded runtime (process ${child.pid ?? '?'}) ended with ${how}${words}`,
  });
}

async function startTimeout(): Promise<AgentLightningError> {
  await new Promise((resolve) => setTimeout(resolve, startTimeoutMs).unref());
  return new AgentLightningError({
    code: 'RUNTIME_UNAVAILABLE',
    message: `the embedded runtime did not come up within ${startTimeoutMs} ms`,
  });
}
