import { AgentLightningError, currentRollout } from '@agentlightning/core';
import type { Agent } from '../agent.ts';
import { Runner } from '../runner.ts';
import type { OutputScoring } from '../score-output.ts';
import { AttemptDeadlines } from './attempt-deadlines.ts';
import { currentAttemptId, writeExitReport } from './exit-report.ts';
import { errorToIpc } from './ipc-error.ts';
import { SupervisorClient } from './supervisor-client.ts';
import type { SupervisorMessage, WorkerMessage, WorkerSettings } from './worker-messages.ts';

/** A function that all rollouts of a process share, by its holder and name. */
const sharedFunctions: readonly (readonly [holder: object, name: string])[] = [
  [globalThis, 'fetch'],
  [JSON, 'parse'],
  [JSON, 'stringify'],
];

/**
 * Keeps replacements of shared functions within the rollout that made them: an agent that assigns `globalThis.fetch` changes
 * its own rollout only. A property that is defined anew, as adapters do, is shared.
 */
class IsolatedGlobals {
  readonly #replacements = new Map<string, Map<string, unknown>>();

  constructor() {
    for (const [holder, name] of sharedFunctions) this.#isolate(holder, name);
  }

  /** Forgets the replacements of an attempt that has ended. */
  ended(attemptId: string): void {
    this.#replacements.delete(attemptId);
  }

  #isolate(holder: object, name: string): void {
    let shared: unknown = Reflect.get(holder, name);
    Object.defineProperty(holder, name, {
      configurable: true,
      enumerable: Object.getOwnPropertyDescriptor(holder, name)?.enumerable ?? false,
      get: () => {
        // The current rollout costs more to find than that there are no replacements.
        const attemptId = this.#replacements.size === 0 ? undefined : currentRollout()?.attemptId;
        const own = attemptId === undefined ? undefined : this.#replacements.get(attemptId);
        return own?.has(name) ? own.get(name) : shared;
      },
      set: (value: unknown) => {
        const attemptId = currentRollout()?.attemptId;
        if (attemptId === undefined) {
          shared = value;
          return;
        }
        const own = this.#replacements.get(attemptId) ?? new Map<string, unknown>();
        this.#replacements.set(attemptId, own.set(name, value));
      },
    });
  }
}

/** Grace period for an agent after the abort of its signal, in milliseconds. */
const abortGraceMs = 2000;

/**
 * The same agent, with detection of runs that ignore the abort of their signal.
 *
 * @param onStuck - called with the rollout of an agent that still runs after the grace period
 */
function detectStuckAgent(
  agent: Agent<unknown, unknown>,
  onStuck: (rolloutId: string) => void,
): Agent<unknown, unknown> {
  return async (task, context) => {
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      timer = setTimeout(() => onStuck(context.rolloutId), abortGraceMs);
    };
    context.signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await agent(task, context);
    } finally {
      context.signal.removeEventListener('abort', onAbort);
      clearTimeout(timer);
    }
  };
}

/** What a worker process runs. */
export interface WorkerAgent {
  readonly agent: Agent<unknown, unknown>;
  /** Null for an agent that returns its reward. */
  readonly reward: OutputScoring | null;
}

/** Heartbeat interval of the event loop, in milliseconds. */
const beatMs = 500;

/**
 * Runs agents in this process for the supervisor that started it, until the supervisor stops it or ends. The process ends
 * with it.
 *
 * @param loadAgent - imports the agent, and the reward of its outputs
 */
export async function serveWorker(loadAgent: () => Promise<WorkerAgent>): Promise<void> {
  const send = (message: WorkerMessage): void => void process.send?.(message);
  endWithSupervisor();
  const client = new SupervisorClient(send);
  const report = (error: unknown): void => send({ type: 'error', error: errorToIpc(error), isFatal: false });
  let start: (settings: WorkerSettings) => void = () => undefined;
  const started = new Promise<WorkerSettings>((resolve) => {
    start = resolve;
  });
  let runner: Runner | null = null;
  process.on('message', (message: SupervisorMessage) => {
    if (message.type === 'start') start(message.settings);
    else if (message.type === 'stop') runner === null ? process.exit() : runner.stop(message.graceMs);
    else client.settle(message);
  });
  process.on('unhandledRejection', (reason) => report(rejection(reason)));
  try {
    const agent = await loadAgent();
    // After the import, whose modules may instrument them for all rollouts.
    const globals = new IsolatedGlobals();
    // After the import, whose end is not awaited by anything that beats.
    setInterval(() => send({ type: 'beat', memoryBytes: process.memoryUsage.rss() }), beatMs);
    send({ type: 'loaded' });
    runner = createRunner(agent, await started, { client, send, report, globals });
    await runner.run();
  } catch (error) {
    await new Promise<unknown>((resolve) => {
      process.send?.({ type: 'error', error: errorToIpc(error), isFatal: true } satisfies WorkerMessage, resolve);
    });
  }
  // Handles of agents must not keep the process alive.
  process.exit();
}

function createRunner(
  { agent, reward }: WorkerAgent,
  settings: WorkerSettings,
  supervisor: {
    readonly client: SupervisorClient;
    readonly send: (message: WorkerMessage) => void;
    readonly report: (error: unknown) => void;
    readonly globals: IsolatedGlobals;
  },
): Runner {
  const { client, send, report, globals } = supervisor;
  const deadlines = new AttemptDeadlines();
  reportEnd();
  const { concurrency, runId, hasAttemptTokens, gatewayUrl } = settings;
  return new Runner({
    store: client.store,
    agent: detectStuckAgent(agent, (rolloutId) => send({ type: 'stuck', rolloutId })),
    ...(reward === null ? {} : { reward }),
    concurrency,
    ...(gatewayUrl === null ? {} : { gatewayUrl }),
    ...(runId === null ? {} : { runId }),
    ...(hasAttemptTokens ? { createAttemptToken: client.createAttemptToken } : {}),
    events: {
      onAttemptStart: (rollout) => deadlines.started(rollout),
      onAttemptEnd: ({ attemptId }) => {
        deadlines.ended(attemptId);
        globals.ended(attemptId);
        send({ type: 'attempt-ended', attemptId });
      },
      onError: report,
      onSpanFailure: ({ error }) => report(error),
    },
  });
}

/** Ends this process with the supervisor. The supervisor decides on signals: Ctrl+C and service managers send them to all processes. */
function endWithSupervisor(): void {
  process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined);
  process.once('disconnect', () => {
    // With the processes that agents have started.
    if (process.platform !== 'win32') process.kill(-process.pid, 'SIGKILL');
    process.exit();
  });
}

/** Reports the code that ends this process: its attempt is the one that failed. */
function reportEnd(): void {
  let exception: string | null = null;
  process.on('uncaughtExceptionMonitor', (error: unknown) => {
    exception = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  });
  process.on('exit', (code) => {
    const attemptId = currentAttemptId();
    if (exception !== null) writeExitReport({ cause: 'exception', detail: exception, attemptId });
    else writeExitReport({ cause: 'exit', detail: `process.exit(${code})`, attemptId });
  });
}

function rejection(reason: unknown): AgentLightningError {
  const shown = reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason);
  return new AgentLightningError({ code: 'AGENT_FAILED', message: `unhandled promise rejection: ${shown}` });
}
