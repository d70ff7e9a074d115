import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { lastOutput, OutputTail } from '@agentlightning/runner/internal/workers';
import type { SharedSettings } from '../../config/shared-settings.ts';
import { resolutionFlags } from '../../runtime/node-runtime.ts';
import { openStoreByUrl } from '../../runtime/open-store-by-url.ts';
import { type DashboardReply, type DashboardSettings, dashboardReply, finishedLine } from './dashboard-messages.ts';

/** The dashboard of a training, in a separate process. */
export interface LaunchedDashboard {
  readonly url: string;
  /** Stops it, and resolves when it has ended. Its open pages report the end of the training. */
  close(): Promise<void>;
}

/** Options of {@link launchDashboard}. */
export interface LaunchDashboardOptions {
  readonly settings: Pick<SharedSettings, 'storeUrl' | 'storeApiKey'>;
  /** 0 for any free port. */
  readonly port: number;
  /** Called when the process ends unexpectedly; the training continues. */
  readonly onLost: (message: string) => void;
}

/** Time limit for the start of the process, which may be slow on a busy machine. */
const startTimeoutMs = 60_000;

/** Time limit for the end of the process before it is killed. */
const closeTimeoutMs = 5000;

/**
 * Starts the dashboard of a store in a separate process, which ends when this one does.
 *
 * @throws AgentLightningError PORT_IN_USE when the port is taken; CONFIG for a store in memory; errors of the store
 */
export async function launchDashboard(options: LaunchDashboardOptions): Promise<LaunchedDashboard> {
  const { settings, port, onLost } = options;
  await createStore(settings);
  const child = spawn(process.execPath, [...resolutionFlags(process.execArgv), dashboardEntry()], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Not interrupted by Ctrl+C: the trainer finishes the current step before it stops the dashboard.
    detached: process.platform !== 'win32',
  });
  // A broken pipe is ignored: the exit of the process is reported.
  child.stdin.on('error', () => undefined);
  const output = new OutputTail(child.stderr);
  const ended = once(child, 'exit').catch(() => undefined);
  const { storeUrl, storeApiKey } = settings;
  const first: DashboardSettings = { storeUrl, storeApiKey, port };
  child.stdin.write(`${JSON.stringify(first)}\n`);
  const reply = await firstReply(child.stdout).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw notStarted(error, output.lines);
  });
  if (reply.type === 'failed') throw reply.error;
  let isClosing = false;
  void ended.then(() => {
    if (!isClosing) onLost(`the dashboard has ended with ${endOf(child)}${lastOutput(output.lines)}`);
  });
  return {
    url: reply.url,
    close: async () => {
      isClosing = true;
      child.stdin.end(`${finishedLine}\n`);
      const timer = setTimeout(() => child.kill('SIGKILL'), closeTimeoutMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** The file of the dashboard process. It is in the folder of this file, in the sources and in the bundle. */
function dashboardEntry(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./dashboard-worker.${extension}`, import.meta.url));
}

/** Creates the store before two processes open it, so that only one creates its tables. */
async function createStore({ storeUrl, storeApiKey }: LaunchDashboardOptions['settings']): Promise<void> {
  if (storeUrl.endsWith(':memory:')) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `--dashboard needs a store that another process can open, and the store is ${storeUrl}`,
      remedy: 'Use a store in a file, such as `--store sqlite:.agl/agl.db`.',
    });
  }
  const store = await openStoreByUrl({ url: storeUrl, apiKey: storeApiKey });
  await store.close();
}

async function firstReply(output: Readable): Promise<DashboardReply> {
  const lines = createInterface({ input: output });
  try {
    const signal = AbortSignal.timeout(startTimeoutMs);
    const [line] = await Promise.race([once(lines, 'line', { signal }), once(lines, 'close', { signal })]);
    return dashboardReply.parse(JSON.parse(String(line)));
  } finally {
    lines.close();
    output.resume();
  }
}

function notStarted(cause: unknown, lastLines: readonly string[]): AgentLightningError {
  return new AgentLightningError({
    code: 'INTERNAL',
    message: `the dashboard did not start: ${errorMessage(cause)}${lastOutput(lastLines)}`,
    cause,
  });
}

function endOf({ signalCode, exitCode }: ChildProcess): string {
  return signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`;
}
