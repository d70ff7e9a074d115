import { DatabaseSync } from 'node:sqlite';
import { migrateStore, openStore } from '@agentlightning/store';

/** Size of a filled store. */
export interface FillSize {
  readonly rollouts: number;
  readonly spansPerRollout: number;
}

/** The run of half of the rollouts of a filled store. */
export const filledRunId = 'run-00000001';

/** One span of every 65,536th rollout is one that failed. */
const isRare = "i = 3 AND attempt_id LIKE '%0000'";

/** Approximate disk space of one rollout with one span, in bytes. */
export const bytesPerRollout = 1000;
/** Approximate disk space of a span, in bytes. */
export const bytesPerSpan = 400;

/**
 * Creates a store as after many runs, with one statement per table: rollouts with random ids, most of them succeeded, one
 * in a hundred failed, a few cancelled and queued.
 */
export async function fillStore(file: string, { rollouts, spansPerRollout }: FillSize): Promise<void> {
  const store = await openStore(file);
  await store.createRun({ runId: filledRunId, name: 'benchmark', config: {} });
  await store.close();
  const database = new DatabaseSync(file);
  database.exec(
    'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -800000; PRAGMA foreign_keys = OFF; BEGIN',
  );
  database.exec(`
    INSERT INTO rollouts (rollout_id, run_id, status, mode, latest_attempt_id, max_attempts, retry_condition,
      start_time_ms, end_time_ms, metadata, input)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rollouts})
    SELECT printf('ro-%012x', (i * 190734863281) % 281474976710656), iif(i % 2 = 0, '${filledRunId}', NULL),
      CASE WHEN i % 100 = 7 THEN 'failed' WHEN i % 1000 = 11 THEN 'cancelled'
        WHEN i > ${rollouts} * 0.999 THEN 'queuing' ELSE 'succeeded' END,
      CASE WHEN i % 10 = 0 THEN 'val' WHEN i % 10 < 9 THEN 'train' END,
      printf('at-%08x', i), 1, '[]', 1760000000000 + i * 10, 1760000000000 + i * 10 + i % 997,
      json_object('data_id', i % 5000, 'fold', i % 10), json_object('question', 'What is ' || i || ' times 7?') FROM n;
    UPDATE rollouts SET end_time_ms = NULL, latest_attempt_id = NULL WHERE status = 'queuing';
    INSERT INTO queue (rollout_id, run_id) SELECT rollout_id, run_id FROM rollouts WHERE status = 'queuing' ORDER BY position;
    INSERT INTO attempts (rollout_id, attempt_id, sequence_id, status, worker_id, start_time_ms, end_time_ms)
      SELECT rollout_id, latest_attempt_id, 1, iif(status = 'succeeded', 'succeeded', 'failed'), 'worker-' || position % 1000,
        start_time_ms, end_time_ms FROM rollouts WHERE latest_attempt_id IS NOT NULL ORDER BY rollout_id;
    INSERT INTO spans (rollout_id, attempt_id, span_id, sequence_id, trace_id, name, start_time_ms, end_time_ms, body)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${spansPerRollout})
      SELECT rollout_id, attempt_id, printf('%016x', i), i, printf('%032x', i),
        iif(${isRare}, 'rare.tool', 'chat.completion'), start_time_ms, end_time_ms,
        '{"status":{"code":"' || iif(${isRare}, 'ERROR', 'OK') || '","message":null},"attributes":' ||
        iif(${isRare}, '{"tool":"rare"}', '{"gen_ai.request.model":"small"}') ||
        ',"events":[],"links":[],"resource":{"attributes":{},"schemaUrl":""}}'
      FROM (SELECT * FROM attempts ORDER BY rollout_id), n;
    INSERT INTO span_counters (rollout_id, last_sequence_id)
      SELECT rollout_id, ${spansPerRollout} FROM attempts ORDER BY rollout_id;
    INSERT INTO span_marks (mark, position)
      SELECT 'nchat.completion', position FROM rollouts WHERE latest_attempt_id IS NOT NULL ORDER BY position;
    INSERT INTO span_marks (mark, position)
      SELECT mark, position FROM rollouts, (SELECT 'e' AS mark UNION ALL SELECT 'nrare.tool')
      WHERE latest_attempt_id LIKE '%0000';
    INSERT INTO workers (worker_id, status) SELECT DISTINCT worker_id, 'idle' FROM attempts;
    COMMIT; PRAGMA journal_mode = WAL`);
  database.close();
  // Background work of an open store, finished before the measurement.
  await migrateStore(file);
}
