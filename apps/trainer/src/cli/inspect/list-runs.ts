import type { Run } from '@agentlightning/core';
import { z } from 'zod';
import { textTable } from '../../report/text-table.ts';
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
    const lines = flags.json === true ? items.map((run) => JSON.stringify(runRecord(run))) : runTable(items);
    for (const line of lines) process.stdout.write(`${line}\n`);
  } finally {
    await store.close();
  }
}

const progress = z.object({
  kind: z.string().nullish(),
  finishedStep: z.number().default(0),
  /** The latest number; older runs have it in their configuration only. */
  steps: z.number().nullish(),
  /** Of a prompt search. */
  spent: z.object({ rollouts: z.number() }).nullish(),
  versions: z.array(z.unknown()).nullish(),
  /** The initial checkpoint, of another run. */
  from: z.object({ runId: z.string(), step: z.number() }).nullish(),
  before: z.object({ reward: z.number() }).nullish(),
  after: z.object({ reward: z.number() }).nullish(),
});

function runRecord(run: Run): Record<string, unknown> {
  const { kind, finishedStep, steps, spent, versions, from, before, after } = progress.parse(run.state);
  return {
    run: run.runId,
    name: run.name,
    kind: kind ?? 'training',
    status: run.status,
    step: finishedStep,
    steps: steps ?? run.config['steps'] ?? null,
    ...(spent == null ? {} : { versions: versions?.length ?? 0, rollouts: spent.rollouts }),
    ...(from == null ? {} : { from: `${from.runId}@${from.step}` }),
    reward_before: before?.reward ?? null,
    reward_after: after?.reward ?? null,
    started: new Date(run.createTimeMs).toISOString(),
  };
}

function runTable(runs: readonly Run[]): string[] {
  if (runs.length === 0) return ['No runs yet. `agl train` starts one.'];
  const records = runs.map((run) => ({ run, record: runRecord(run) }));
  const hasOrigin = records.some(({ record }) => record['from'] !== undefined);
  const header = ['RUN', ...(hasOrigin ? ['FROM'] : []), 'NAME', 'STATUS', 'STEP', 'BEFORE', 'AFTER', 'STARTED'];
  const rows = records.map(({ run, record }) => {
    return [
      run.runId,
      ...(hasOrigin ? [String(record['from'] ?? '-')] : []),
      run.name,
      run.status,
      progressText(record),
      rewardText(record['reward_before']),
      rewardText(record['reward_after']),
      String(record['started']).slice(0, 19).replace('T', ' '),
    ];
  });
  return textTable(header, rows);
}

function progressText(record: Record<string, unknown>): string {
  if (record['kind'] === 'evaluation') return 'evaluation';
  if (typeof record['versions'] === 'number') return `${record['versions']} versions`;
  return `${String(record['step'])}/${String(record['steps'] ?? '?')}`;
}

function rewardText(reward: unknown): string {
  return typeof reward === 'number' ? reward.toFixed(3) : '-';
}
