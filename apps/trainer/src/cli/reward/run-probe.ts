import { AgentLightningError, type JsonValue, type Store } from '@agentlightning/core';
import { loadConfig } from '../../config/load-config.ts';
import { loadTasks } from '../../config/load-tasks.ts';
import { isPromptSearch } from '../../config/resolve-run.ts';
import { probeText } from '../../report/reward-text.ts';
import { readFinishedRollouts } from '../../results/finished-rollout.ts';
import { type ProbedTask, probeReward } from '../../rewards/probe-reward.ts';
import { computedReward, storedOutput } from '../../rewards/score-outputs.ts';
import { exitCodes } from '../exit-code.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { listenToProcess } from '../process/listen-to-process.ts';
import { redirectStdout } from '../process/redirect-stdout.ts';

/** The flags of `agl reward probe`. */
export interface ProbeFlags {
  readonly run?: string;
  readonly tasks: number;
  readonly store: string;
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
    const probed =
      flags.run === undefined
        ? bareTasks(await loadTasks(config.tasks.train, settings.taskSchema), flags.tasks)
        : await storedTasks({ ...flags, run: flags.run });
    const { range } = config.reward;
    const probe = await probeReward(reward, { tasks: probed, highest: range?.[1] ?? null, signal: stop.signal });
    if (stdout === null) process.stdout.write(probeText(probe, { hasRun: flags.run !== undefined }));
    else stdout.write(`${JSON.stringify(probe)}\n`);
    return probe.kinds.some(({ isGameable }) => isGameable) ? exitCodes.failed : exitCodes.done;
  } finally {
    stop.release();
    stdout?.release();
  }
}

function bareTasks(tasks: readonly JsonValue[], count: number): readonly ProbedTask[] {
  return tasks.slice(0, count).map((task) => ({ task, outputs: [] }));
}

/** The tasks of a run with the outputs that the agent returned. */
async function storedTasks({
  run,
  tasks,
  store: url,
}: ProbeFlags & { readonly run: string }): Promise<readonly ProbedTask[]> {
  const store = await openExistingStore(url);
  try {
    return await readTasks(store, run, tasks);
  } finally {
    await store.close();
  }
}

async function readTasks(store: Store, run: string, count: number): Promise<readonly ProbedTask[]> {
  await store.getRun(run);
  const { items } = await store.queryRollouts({ runId: run, statusIn: ['succeeded'] });
  const byTask = Map.groupBy(items, ({ input }) => JSON.stringify(input));
  const probed: ProbedTask[] = [];
  for (const rollouts of [...byTask.values()].slice(0, count)) {
    const finished = await readFinishedRollouts(store, rollouts.slice(0, maxOutputs));
    const outputs = finished.map(({ spans }) => storedOutput(spans).output);
    probed.push({ task: rollouts[0]?.input ?? null, outputs });
  }
  if (probed.length > 0) return probed;
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `run ${run} has no finished rollout`,
    remedy: 'Probe without `--run`, or choose a run with rollouts: `agl runs`.',
  });
}

/** Stored outputs of a task that are scored. */
const maxOutputs = 8;

function noReward(file: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${file} has no \`reward\`: its agent returns the reward, which cannot be applied to other outputs`,
    remedy: 'Return the output from the agent, and compute the reward by the key `reward`.',
  });
}
