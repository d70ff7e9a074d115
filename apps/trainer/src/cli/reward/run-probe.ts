import { AgentLightningError, type JsonValue, type Store } from '@agentlightning/core';
import { loadConfig } from '../../config/load-config.ts';
import { groupSizeOf } from '../../config/policy-learner.ts';
import { isPromptSearch, type ResolvedRun } from '../../config/resolve-run.ts';
import { probeText } from '../../report/reward-text.ts';
import { readFinishedRollouts } from '../../results/finished-rollout.ts';
import { type ProbedTask, probeReward } from '../../rewards/probe-reward.ts';
import { computedReward, storedOutput } from '../../rewards/score-outputs.ts';
import { readConfiguredTasks } from '../../runtime/read-configured-tasks.ts';
import { exitCodes } from '../exit-code.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { listenToProcess } from '../process/listen-to-process.ts';
import { redirectStdout } from '../process/redirect-stdout.ts';

/** The flags of `agl reward probe`. */
export interface ProbeFlags {
  readonly run?: string;
  readonly tasks: number;
  /** @default that of the configuration */
  readonly store?: string;
  readonly json?: boolean;
}

/**
 * Probes the reward of a configuration and prints what is gameable.
 *
 * @returns the exit code
 * @throws AgentLightningError CONFIG for a configuration whose agent returns the reward
 */
export async function runProbe(file: string, flags: ProbeFlags): Promise<number> {
  const config = await loadConfig(file);
  const settings = isPromptSearch(config) ? config.shared : config;
  const reward = computedReward(settings.rewards);
  if (reward === null) throw noReward(file);
  const stdout = flags.json === true ? redirectStdout() : null;
  const stop = listenToProcess({ close: () => undefined, onWarning: () => undefined });
  try {
    const stored = await readStored(config, flags);
    const tasks = stored?.tasks ?? bareTasks(await readConfiguredTasks(config.tasks.train, settings), flags.tasks);
    const { range } = config.reward;
    const isSearch = isPromptSearch(config);
    const probe = await probeReward(reward, {
      tasks,
      highest: range?.[1] ?? null,
      groupSize: isSearch ? 1 : groupSizeOf(config.policies),
      tasksPerStep: isSearch ? null : config.tasksPerStep,
      signal: stop.signal,
    });
    const run = stored?.run ?? null;
    if (stdout === null) process.stdout.write(probeText(probe, { run }));
    else stdout.write(`${JSON.stringify({ ...probe, run })}\n`);
    return probe.kinds.some(({ isGameable }) => isGameable) ? exitCodes.failed : exitCodes.done;
  } finally {
    stop.release();
    stdout?.release();
  }
}

function bareTasks(tasks: readonly JsonValue[], count: number): readonly ProbedTask[] {
  return tasks.slice(0, count).map((task) => ({ task, outputs: [] }));
}

/** Tasks with what the agent returned for them, and the run that has them. */
interface StoredTasks {
  readonly run: string;
  readonly tasks: readonly ProbedTask[];
}

/**
 * The tasks of a run with the outputs that the agent returned: of the given run, or of the newest one of the configuration
 * in its store; null without one.
 */
async function readStored(
  config: ResolvedRun,
  { run, tasks: count, store: url }: ProbeFlags,
): Promise<StoredTasks | null> {
  const { storeUrl, storeApiKey, name } = isPromptSearch(config) ? config.shared : config;
  const opened = url === undefined ? openExistingStore(storeUrl, storeApiKey) : openExistingStore(url);
  const store = await opened.catch((error: unknown) => {
    // Before a training, its store need not exist.
    const isAbsent = AgentLightningError.isInstance(error) && ['NOT_FOUND', 'UNREACHABLE'].includes(error.code);
    if (run === undefined && url === undefined && isAbsent) return null;
    throw error;
  });
  if (store === null) return null;
  try {
    if (run !== undefined) return await tasksOfRun(store, run, count);
    const { items } = await store.queryRuns({ limit: maxRuns });
    for (const { runId } of items.filter((each) => each.name === name)) {
      const found = await readTasks(store, runId, count);
      if (found.length > 0) return { run: runId, tasks: found };
    }
    return null;
  } finally {
    await store.close();
  }
}

async function tasksOfRun(store: Store, run: string, count: number): Promise<StoredTasks> {
  await store.getRun(run);
  const tasks = await readTasks(store, run, count);
  if (tasks.length > 0) return { run, tasks };
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `run ${run} has no finished rollout`,
    remedy: 'Probe without `--run`, or choose a run with rollouts: `agl runs`.',
  });
}

async function readTasks(store: Store, run: string, count: number): Promise<readonly ProbedTask[]> {
  const { items } = await store.queryRollouts({ runId: run, statusIn: ['succeeded'] });
  const byTask = Map.groupBy(items, ({ input }) => JSON.stringify(input));
  const probed: ProbedTask[] = [];
  for (const rollouts of [...byTask.values()].slice(0, count)) {
    const finished = await readFinishedRollouts(store, rollouts.slice(0, maxOutputs));
    const outputs = finished.map(({ spans }) => storedOutput(spans).output);
    probed.push({ task: rollouts[0]?.input ?? null, outputs });
  }
  return probed;
}

/** Stored outputs of a task that are scored, and newest runs that are looked at. */
const [maxOutputs, maxRuns] = [8, 200];

function noReward(file: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${file} has no \`reward\`: its agent returns the reward, which cannot be applied to other outputs`,
    remedy: 'Return the output from the agent, and compute the reward by the key `reward`.',
  });
}
