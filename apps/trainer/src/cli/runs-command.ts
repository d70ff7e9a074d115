import type { Run } from '@agentlightning/core';
import type { Command } from 'commander';
import { z } from 'zod';
import { defaultStoreUrl, openExistingStore } from './store-option.ts';

/** Adds `agl runs`. */
export function addRunsCommand(program: Command): void {
  program
    .command('runs')
    .description('List the training runs of a store, newest first.')
    .option('--store <url>', 'sqlite:<file>, or the http address of a store server', defaultStoreUrl)
    .option('--json', 'one JSON object a line, for programs')
    .action(async (flags: { readonly store: string; readonly json?: boolean }) => {
      const store = await openExistingStore(flags.store);
      try {
        const { items } = await store.queryRuns();
        const write = (line: string): void => void process.stdout.write(`${line}\n`);
        if (flags.json === true) for (const run of items) write(JSON.stringify(runRecord(run)));
        else runTable(items).forEach(write);
      } finally {
        await store.close();
      }
    });
}

const progress = z.object({
  finishedStep: z.number().default(0),
  before: z.object({ reward: z.number() }).nullish(),
  after: z.object({ reward: z.number() }).nullish(),
});

function runRecord(run: Run): Record<string, unknown> {
  const { finishedStep, before, after } = progress.parse(run.state);
  return {
    run: run.runId,
    name: run.name,
    status: run.status,
    step: finishedStep,
    steps: run.config['steps'] ?? null,
    reward_before: before?.reward ?? null,
    reward_after: after?.reward ?? null,
    started: new Date(run.createTimeMs).toISOString(),
  };
}

function runTable(runs: readonly Run[]): string[] {
  if (runs.length === 0) return ['No runs yet. `agl train` starts one.'];
  const header = ['RUN', 'NAME', 'STATUS', 'STEP', 'BEFORE', 'AFTER', 'STARTED'];
  const rows = runs.map((run) => {
    const record = runRecord(run);
    return [
      run.runId,
      run.name,
      run.status,
      `${String(record['step'])}/${String(record['steps'] ?? '?')}`,
      rewardText(record['reward_before']),
      rewardText(record['reward_after']),
      String(record['started']).slice(0, 19).replace('T', ' '),
    ];
  });
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [header, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function rewardText(reward: unknown): string {
  return typeof reward === 'number' ? reward.toFixed(3) : '-';
}
