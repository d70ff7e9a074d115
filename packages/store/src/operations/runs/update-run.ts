import { type Run, ValidationError } from '@agentlightning/core';
import type { MetricPoint, RunPatch } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { toJson } from '../../sql/row-value.ts';
import { loadRun } from '../records/read-runs.ts';
import { lockRows } from '../records/row-lock.ts';

/** A request to update a run and record metrics. */
export interface UpdateRunRequest {
  readonly runId: string;
  readonly patch: RunPatch;
  readonly metrics: readonly MetricPoint[];
}

/** Updates a run and records metrics, atomically. */
export async function updateRun(context: OperationContext, request: UpdateRunRequest): Promise<Run> {
  const { runId, patch, metrics } = request;
  await lockRows(context, 'runs', [runId]);
  const run = await loadRun(context, runId);
  const state = patch.state ?? run.state;
  await context.db.run('UPDATE runs SET status = ?, state = ?, update_time_ms = ? WHERE run_id = ?', [
    patch.status ?? run.status,
    toJson(state, 'Run state'),
    context.nowMs,
    runId,
  ]);
  for (const [index, point] of metrics.entries()) {
    assertBelongs(point, { runId, index });
    await writeMetrics(context, point);
  }
  context.changes.record({ kind: 'run', runId, status: patch.status ?? run.status });
  return loadRun(context, runId);
}

/** Writes the metrics of a step and replaces existing ones. */
export async function writeMetrics(context: OperationContext, point: MetricPoint): Promise<void> {
  await context.db.run(
    `INSERT INTO metrics (run_id, step, time_ms, metric_values) VALUES (?, ?, ?, ?)
     ON CONFLICT (run_id, step) DO UPDATE SET time_ms = excluded.time_ms, metric_values = excluded.metric_values`,
    [point.runId, point.step, point.timeMs, toJson(point.values, 'Metrics')],
  );
}

function assertBelongs(point: MetricPoint, at: { readonly runId: string; readonly index: number }): void {
  if (point.runId === at.runId && Number.isSafeInteger(point.step) && point.step >= 0) return;
  const message =
    point.runId === at.runId
      ? `step must be a whole number of at least 0, got ${point.step}`
      : `belongs to run ${point.runId}`;
  throw new ValidationError(`Metrics of run ${at.runId}`, [{ path: `metrics[${at.index}]`, message }]);
}
