import { systemClock } from '@agentlightning/core/internal';
import { type RunnerRecord, readRunner, storeTimeOf } from '@agentlightning/core/protocol';
import { textTable } from '../../report/text-formats.ts';
import { formatBytes } from '../format-bytes.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl workers`. */
export interface WorkersFlags {
  readonly store: string;
  readonly json?: boolean;
}

/** Writes the registered runners of a store. */
export async function listWorkers(flags: WorkersFlags): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    const { items } = await store.queryWorkers();
    const nowMs = storeTimeOf(items, systemClock.now());
    const runners = items.flatMap((worker) => readRunner(worker, nowMs) ?? []);
    const lines = flags.json === true ? runners.map((each) => JSON.stringify(jsonRecord(each))) : table(runners, nowMs);
    for (const line of lines) process.stdout.write(`${line}\n`);
  } finally {
    await store.close();
  }
}

function jsonRecord(runner: RunnerRecord): Record<string, unknown> {
  const { workerId, runId, memoryBytes, lastHeartbeatTimeMs, ...others } = runner;
  return {
    runner: workerId,
    ...others,
    run: runId,
    memory_bytes: memoryBytes,
    last_heartbeat: new Date(lastHeartbeatTimeMs).toISOString(),
  };
}

function table(runners: readonly RunnerRecord[], nowMs: number): string[] {
  if (runners.length === 0) return ['No runners. `agl runner` starts one.'];
  const header = ['RUNNER', 'HOST', 'VERSION', 'STATE', 'LOAD', 'PROCESSES', 'MEMORY', 'RUN', 'HEARTBEAT'];
  const rows = runners.map((runner) => [
    runner.workerId,
    `${runner.host}:${runner.pid}`,
    runner.version,
    runner.state,
    `${runner.running}/${runner.concurrency}`,
    String(runner.processes),
    formatBytes(runner.memoryBytes),
    runner.runId ?? 'any',
    `${Math.max(0, (nowMs - runner.lastHeartbeatTimeMs) / 1000).toFixed(1)} s ago`,
  ]);
  return textTable(header, rows);
}
