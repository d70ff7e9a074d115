import { DatabaseSync } from 'node:sqlite';
import { openStore } from '@agentlightning/store';

/** Size of the load. */
export interface BareLoad {
  readonly batches: number;
  readonly perBatch: number;
}

/** Result of the bare database. */
export interface BareResult {
  readonly spansPerSecond: number;
  /** CPU time per span, in microseconds. */
  readonly cpuPerSpanUs: number;
}

/**
 * Ingest throughput of the bare database: the same rows in the same tables and indices, with the same durability and batch
 * size, by one prepared statement with prepared values.
 */
export async function measureBareDatabase(file: string, load: BareLoad): Promise<BareResult> {
  const store = await openStore(file);
  const attempts = [];
  for (let index = 0; index < load.batches; index += 1) attempts.push(await store.startRollout({ input: { index } }));
  await store.close();
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON');
    const insert = database.prepare(
      `INSERT INTO spans (rollout_id, attempt_id, span_id, sequence_id, trace_id, parent_id, name, start_time_ms,
         end_time_ms, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    const body = JSON.stringify({
      status: { code: 'OK', message: null },
      attributes: { 'gen_ai.request.model': 'small', 'gen_ai.usage.input_tokens': 12, 'gen_ai.usage.output_tokens': 5 },
      events: [],
      links: [],
      resource: { attributes: { 'service.name': 'benchmark' }, schemaUrl: '' },
    });
    const spanIds = Array.from({ length: load.perBatch }, (_, index) => index.toString(16).padStart(16, '0'));
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const beganCpu = process.threadCpuUsage();
    const beganMs = performance.now();
    for (const { rolloutId, attempt } of attempts) {
      database.exec('BEGIN IMMEDIATE');
      for (const [index, spanId] of spanIds.entries()) {
        const { attemptId } = attempt;
        insert.run(rolloutId, attemptId, spanId, index + 1, traceId, null, 'chat.completion', 1.76e12, 1.76e12, body);
      }
      database.exec('COMMIT');
    }
    const spans = load.batches * load.perBatch;
    const spansPerSecond = (spans * 1000) / (performance.now() - beganMs);
    const { user, system } = process.threadCpuUsage(beganCpu);
    return { spansPerSecond, cpuPerSpanUs: (user + system) / spans };
  } finally {
    database.close();
  }
}
