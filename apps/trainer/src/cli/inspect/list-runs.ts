import type { Run, Store } from '@agentlightning/core';
import { costOfRun, readRunProgress, type StageSummary } from '@agentlightning/core/protocol';
import type { Cost } from '@agentlightning/core/store';
import { costText } from '../../report/rollout-text.ts';
import { textTable } from '../../report/text-formats.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl runs`. */
export interface RunsFlags {
  readonly store: string;
  readonly json?: boolean;
}

/** Writes the runs of a store, newest first. */
export async function listRuns(flags: RunsFlags): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    const { items } = await store.queryRuns();
    const runs = await Promise.all(items.map((run) => listedRun(store, run)));
    const lines = flags.json === true ? runs.map(({ record }) => JSON.stringify(record)) : runTable(runs);
    for (const line of lines) process.stdout.write(`${line}\n`);
  } finally {
    await store.close();
  }
}

async function listedRun(store: Store, run: Run): Promise<ListedRun> {
  const cost = await costOf(store, run);
  return { run, cost, record: runRecord(run, cost) };
}

async function costOf(store: Store, run: Run): Promise<Cost> {
  const { usage } = await store.runStatistics(run.runId);
  return costOfRun(run, usage);
}

function runRecord(run: Run, cost: Cost): Record<string, unknown> {
  const { kind, finishedStep, steps, search, from, before, after, stages, unsolvedTasks } = readRunProgress(run);
  return {
    run: run.runId,
    name: run.name,
    kind,
    status: run.status,
    step: finishedStep,
    steps,
    ...(search === null ? {} : { prompts: search.kinds, versions: search.versions, rollouts: search.rollouts }),
    ...(from === null ? {} : { from: `${from.runId}@${from.step}` }),
    reward_before: before?.reward ?? null,
    reward_after: after?.reward ?? null,
    ...(unsolvedTasks.length === 0 ? {} : { unsolved_tasks: unsolvedTasks }),
    ...(stages.length === 0 ? {} : { stages: stages.map(stageRecord) }),
    cost,
    started: new Date(run.createTimeMs).toISOString(),
  };
}

function stageRecord({ algorithm, firstStep, lastStep, startStep, ended }: StageSummary): Record<string, unknown> {
  return { algorithm, first_step: firstStep, last_step: lastStep, start_step: startStep, ended };
}

/** A run with its line as JSON. */
interface ListedRun {
  readonly run: Run;
  readonly cost: Cost;
  readonly record: Readonly<Record<string, unknown>>;
}

function runTable(records: readonly ListedRun[]): string[] {
  if (records.length === 0) return ['No runs yet. `agl train` starts one.'];
  const hasOrigin = records.some(({ record }) => record['from'] !== undefined);
  const hasCost = records.some(({ cost }) => cost.amount !== null);
  const origin = hasOrigin ? ['FROM'] : [];
  const header = [
    'RUN',
    ...origin,
    'NAME',
    'STATUS',
    'STEP',
    'BEFORE',
    'AFTER',
    ...(hasCost ? ['COST'] : []),
    'STARTED',
  ];
  const rows = records.map(({ run, record, cost }) => {
    return [
      run.runId,
      ...(hasOrigin ? [String(record['from'] ?? '-')] : []),
      run.name,
      run.status,
      progressText(record),
      rewardText(record['reward_before']),
      rewardText(record['reward_after']),
      ...(hasCost ? [costText({ ...cost, missing: [] })] : []),
      String(record['started']).slice(0, 19).replace('T', ' '),
    ];
  });
  return textTable(header, rows);
}

function progressText(record: Record<string, unknown>): string {
  if (['evaluation', 'dev', 'deployment', 'dataset'].includes(String(record['kind']))) return String(record['kind']);
  if (typeof record['versions'] === 'number') return `${record['versions']} versions`;
  return `${String(record['step'])}/${String(record['steps'] ?? '?')}`;
}

function rewardText(reward: unknown): string {
  return typeof reward === 'number' ? reward.toFixed(3) : '-';
}
