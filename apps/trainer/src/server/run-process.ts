import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TrainingEvent } from '@agentlightning/core/protocol';
import type { Upstream } from '@agentlightning/gateway';
import { environmentVariables } from '../config/environment.ts';
import type { RunSettings } from './run-config.ts';
import { type RunError, type RunMessage, runErrorOf, type ServerMessage } from './run-messages.ts';

/** Options of a {@link RunProcess}. */
export interface RunProcessOptions {
  readonly runId: string;
  readonly settings: RunSettings;
  /** The file that its output is appended to. */
  readonly logFile: string;
  readonly onEvent: (event: TrainingEvent) => void;
  /** Registers the upstreams of the run at the gateway. */
  readonly onUpstreams: (upstreams: readonly Upstream[]) => void;
}

/** The process that trains one run. */
export class RunProcess {
  /** Resolves when the process has ended: with the error of the run, or null when it finished. */
  readonly ended: Promise<RunError | null>;
  readonly #child: ChildProcess;

  constructor({ runId, settings, logFile, onEvent, onUpstreams }: RunProcessOptions) {
    mkdirSync(path.dirname(logFile), { recursive: true });
    const output = openSync(logFile, 'a');
    this.#child = fork(trainingWorkerEntry(), [], {
      stdio: ['ignore', output, output, 'ipc'],
      // The server is on this machine, and may listen at another address than loopback.
      env: { ...environmentVariables(), AGL_ALLOW_INSECURE_KEYS: '1' },
    });
    closeSync(output);
    let result: RunError | null = crashed(logFile);
    this.#child.on('message', (message: RunMessage) => {
      switch (message.type) {
        case 'ready':
          this.#send({ type: 'start', runId, settings });
          return;
        case 'event':
          onEvent(message.event);
          return;
        case 'upstreams':
          this.#send({ type: 'registered', error: errorOf(() => onUpstreams(message.upstreams)) });
          return;
        case 'ended':
          result = message.error;
      }
    });
    const exited = once(this.#child, 'exit').catch(() => undefined);
    this.ended = exited.then(() => result);
  }

  /** Stops the run after the current operation. */
  stop(): void {
    this.#send({ type: 'stop' });
  }

  /** Ends the process at once. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** A process that has ended receives nothing; its end is reported. */
  #send(message: ServerMessage): void {
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }
}

/** The error of an action; null without one. */
function errorOf(action: () => void): RunError | null {
  try {
    action();
    return null;
  } catch (error) {
    return runErrorOf(error);
  }
}

function crashed(logFile: string): RunError {
  return {
    code: 'INTERNAL',
    message: `the process of the run ended unexpectedly; its output is in ${logFile}`,
    remedy: 'Read the output, then resume the run.',
  };
}

/** The file of the program that runs one training; in the folder of this file, in sources and bundle. */
function trainingWorkerEntry(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./training-worker.${extension}`, import.meta.url));
}
