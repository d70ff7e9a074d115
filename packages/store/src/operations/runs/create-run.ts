import { AgentLightningError, type JsonObject, type Run } from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { toJson } from '../../sql/row-value.ts';
import { loadRun } from '../records/read-runs.ts';

/** A request to create a run. */
export interface CreateRunRequest {
  readonly runId: string;
  readonly name: string;
  readonly config: JsonObject;
}

/**
 * Creates a run.
 *
 * @throws AgentLightningError CONFLICT when the id already exists
 */
export async function createRun(context: OperationContext, run: CreateRunRequest): Promise<Run> {
  assertId('runId', run.runId);
  const inserted = await context.db.run(
    `INSERT INTO runs (run_id, name, status, config, state, create_time_ms, update_time_ms) VALUES (?, ?, 'running', ?, '{}', ?, ?)
     ON CONFLICT (run_id) DO NOTHING`,
    [run.runId, run.name, toJson(run.config, 'Run config'), context.nowMs, context.nowMs],
  );
  if (inserted === 0) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `Run ${run.runId} already exists`,
      remedy: 'Use another run id, or resume the existing run.',
      details: { runId: run.runId },
    });
  }
  context.changes.record({ kind: 'run', runId: run.runId, status: 'running' });
  return loadRun(context, run.runId);
}
