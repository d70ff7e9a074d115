import { AgentLightningError, type Span, type SpanInput } from '@agentlightning/core';
import { productionFacts, productionMetadata } from '@agentlightning/core/internal';
import { assertId, readRunProgress } from '@agentlightning/core/protocol';
import { readProductionMetadata } from '@agentlightning/core/spans';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readJsonOrNull, readNumber, readText, toJson } from '../../sql/row-value.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { storeInput } from '../records/contents.ts';
import { loadRun } from '../records/read-runs.ts';
import { appendSpans } from './append-spans.ts';

/**
 * Records spans of production. Null for spans that already exist.
 *
 * @throws AgentLightningError CONFLICT when the deployment is a run of another kind, or a rollout is not in it
 * @throws AgentLightningError QUOTA_EXCEEDED as {@link appendSpans}
 */
export async function recordTraces(
  context: OperationContext,
  deployment: string,
  spans: readonly SpanInput[],
): Promise<readonly (Span | null)[]> {
  await findOrCreateDeployment(context, deployment);
  const traces = new Map<string, TraceRecord>();
  // In the order of ids, as rows are locked: concurrent batches do not block each other.
  for (const { rolloutId, attemptId } of spans.toSorted(byRollout)) {
    if (traces.has(rolloutId)) continue;
    traces.set(rolloutId, await findOrCreateTrace(context, { deployment, rolloutId, attemptId }));
  }
  // A trace has one attempt, whichever one its later spans name.
  const placed = spans.map((span) => ({ ...span, attemptId: traces.get(span.rolloutId)?.attemptId ?? span.attemptId }));
  const recorded = await appendSpans(context, placed);
  const added = Map.groupBy(
    recorded.filter((span) => span !== null),
    ({ rolloutId }) => rolloutId,
  );
  for (const [rolloutId, ofTrace] of added) {
    const trace = traces.get(rolloutId);
    if (trace !== undefined) await updateTrace(context, { ...trace, rolloutId, deployment }, ofTrace);
  }
  return recorded;
}

/** The attempt of a trace, and whether this transaction created it. */
interface TraceRecord {
  readonly attemptId: string;
  readonly isNew: boolean;
}

function byRollout(one: SpanInput, other: SpanInput): number {
  if (one.rolloutId === other.rolloutId) return 0;
  return one.rolloutId < other.rolloutId ? -1 : 1;
}

async function findOrCreateDeployment(context: OperationContext, deployment: string): Promise<void> {
  assertId('deployment', deployment);
  const state = toJson({ kind: 'deployment' }, 'Run state');
  const inserted = await context.db.run(
    `INSERT INTO runs (run_id, name, status, config, state, create_time_ms, update_time_ms)
     VALUES (?, ?, 'running', '{}', ?, ?, ?) ON CONFLICT (run_id) DO NOTHING`,
    [deployment, deployment, state, context.nowMs, context.nowMs],
  );
  if (inserted > 0) {
    context.changes.record({ kind: 'run', runId: deployment, status: 'running' });
    return;
  }
  const { kind } = readRunProgress(await loadRun(context, deployment));
  if (kind === 'deployment') return;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `Traces refused: ${deployment} is a run of the kind ${kind}, not a deployment`,
    remedy: 'Choose another name for the deployment.',
    details: { runId: deployment, kind },
  });
}

/** @throws AgentLightningError CONFLICT for a rollout outside of the deployment */
async function findOrCreateTrace(
  context: OperationContext,
  trace: { readonly deployment: string; readonly rolloutId: string; readonly attemptId: string },
): Promise<TraceRecord> {
  const { deployment, rolloutId, attemptId } = trace;
  assertId('rolloutId', rolloutId);
  assertId('attemptId', attemptId);
  const { nowMs } = context;
  const unknown = { version: null, trial: null, fallbackFrom: null, user: null, conversation: null };
  const inserted = await context.db.run(
    `INSERT INTO rollouts (rollout_id, run_id, status, mode, max_attempts, retry_condition, start_time_ms, end_time_ms,
       latest_attempt_id, metadata, input) VALUES (?, ?, 'succeeded', 'production', 1, '[]', ?, ?, ?, ?, 'null')
     ON CONFLICT (rollout_id) DO NOTHING`,
    [rolloutId, deployment, nowMs, nowMs, attemptId, toJson(productionMetadata(unknown), 'Rollout metadata')],
  );
  if (inserted > 0) {
    await context.db.run(
      `INSERT INTO attempts (rollout_id, attempt_id, sequence_id, status, start_time_ms, end_time_ms)
       VALUES (?, ?, 1, 'succeeded', ?, ?)`,
      [rolloutId, attemptId, nowMs, nowMs],
    );
    context.changes.record({ kind: 'rollout', rolloutId, runId: deployment, status: 'succeeded' });
    return { attemptId, isNew: true };
  }
  const [row] = await context.db.all(
    "SELECT latest_attempt_id FROM rollouts WHERE rollout_id = ? AND run_id = ? AND mode = 'production'",
    [rolloutId, deployment],
  );
  if (row !== undefined) return { attemptId: readText(row, 'latest_attempt_id'), isNew: false };
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `Spans refused: rollout ${rolloutId} is not a trace of the deployment ${deployment}`,
    remedy: 'Send the spans of a rollout that a runner runs without the name of a deployment.',
    details: { rolloutId, deployment },
  });
}

interface KnownTrace extends TraceRecord {
  readonly rolloutId: string;
  readonly deployment: string;
}

/** Completes a trace from new spans: its input, outcome, times and the ids of user and conversation. */
async function updateTrace(context: OperationContext, trace: KnownTrace, spans: readonly Span[]): Promise<void> {
  const { db } = context;
  const { rolloutId, deployment: runId } = trace;
  const [row] = await db.all(`SELECT * FROM rollouts WHERE rollout_id = ? ${context.dialect.forUpdate}`, [rolloutId]);
  if (row === undefined) return;
  const facts = productionFacts(spans);
  const known = readProductionMetadata(readJsonOrNull(row, 'metadata'));
  const metadata = productionMetadata({
    version: known.version ?? facts.version,
    trial: known.trial ?? facts.trial,
    fallbackFrom: known.fallbackFrom ?? facts.fallbackFrom,
    user: known.user ?? facts.user,
    conversation: known.conversation ?? facts.conversation,
  });
  // The input of the root span replaces that of a model call.
  const recorded = readText(row, 'input');
  const replaces = facts.input !== undefined && (recorded === 'null' || facts.isFailed !== null);
  const input = replaces ? await storeInput(context, { rolloutId, input: facts.input ?? null }) : recorded;
  const status = facts.isFailed === true || readText(row, 'status') === 'failed' ? 'failed' : 'succeeded';
  const times = timesOf(context, row, { spans, isNew: trace.isNew });
  await db.run(
    'UPDATE rollouts SET input = ?, status = ?, metadata = ?, start_time_ms = ?, end_time_ms = ? WHERE rollout_id = ?',
    [input, status, toJson(metadata, 'Rollout metadata'), ...times, rolloutId],
  );
  await db.run('UPDATE attempts SET status = ?, start_time_ms = ?, end_time_ms = ? WHERE rollout_id = ?', [
    status,
    ...times,
    rolloutId,
  ]);
  context.changes.record({ kind: 'rollout', rolloutId, runId, status });
}

/** Start and end of a trace. Clocks of producers differ: neither is later than now. */
function timesOf(
  { nowMs }: OperationContext,
  row: SqlRow,
  { spans, isNew }: { readonly spans: readonly Span[]; readonly isNew: boolean },
): readonly [startMs: number, endMs: number] {
  const times = spans.flatMap(({ startTimeMs, endTimeMs }) => [startTimeMs, endTimeMs]).filter((time) => time !== null);
  const known = isNew && times.length > 0 ? [] : [readNumber(row, 'start_time_ms'), readNumber(row, 'end_time_ms')];
  const all = [...known, ...times];
  return [Math.min(nowMs, ...all), Math.min(nowMs, Math.max(...all))];
}
