import { AgentLightningError, type Attempt, type Rollout, type Run, type Span } from '@agentlightning/core';
import { assertId, unfinishedRunStatuses } from '@agentlightning/core/protocol';
import { isTerminalRolloutStatus, type MetricPoint, type ResourcesSnapshot } from '@agentlightning/core/store';
import { isOpen } from '../operations/records/attempt-record.ts';
import { storeInput } from '../operations/records/contents.ts';
import { writeSequenceId } from '../operations/records/span-counter.ts';
import { requestTextIndex } from '../operations/records/text-index-queue.ts';
import { writeMetrics } from '../operations/runs/update-run.ts';
import { insertSpans } from '../operations/spans/append-spans.ts';
import type { OperationContext } from '../sql/operation-runner.ts';
import { readInteger, toJson } from '../sql/row-value.ts';
import { archiveError } from './archive-lines.ts';
import type { ArchiveRecord } from './run-archive-record.ts';

/** Number of spans per statement. */
const spansPerInsert = 100;

/** Writes the records of an archive in order, within one transaction. */
export class WriteArchive {
  readonly #context: OperationContext;
  #runId: string | null = null;
  #rolloutId: string | null = null;
  /** Buffered spans of the rollout. */
  #spans: Span[] = [];
  /** Revision of the last written resources; null before the first. */
  #revision: { readonly last: number; readonly step: 1 | -1 } | null = null;

  constructor(context: OperationContext) {
    this.#context = context;
  }

  /** The written run; null before it is written. */
  get runId(): string | null {
    return this.#runId;
  }

  /**
   * Writes one record.
   *
   * @throws AgentLightningError CONFLICT when the run or rollout already exists
   * @throws ValidationError when the record is out of order
   */
  async write(record: ArchiveRecord): Promise<void> {
    if (record.kind === 'span') return this.#takeSpan(record.span);
    await this.finish();
    switch (record.kind) {
      case 'header':
      case 'end':
        return;
      case 'run':
        return this.#writeRun(record.run);
      case 'metrics':
        return this.#writeMetrics(record.metrics);
      case 'resources':
        return this.#writeResources(record.resources);
      case 'rollout':
        return this.#writeRollout(record.rollout, record.last_sequence_id);
      case 'attempt':
        return this.#writeAttempt(record.attempt, record.is_counted);
    }
  }

  /** Flushes the buffered spans; call it after the last record. */
  async finish(): Promise<void> {
    const spans = this.#spans;
    this.#spans = [];
    if (spans.length > 0) await insertSpans(this.#context, spans);
  }

  async #writeRun(run: Run): Promise<void> {
    assertId('runId', run.runId);
    // An imported run has no trainer.
    const status = unfinishedRunStatuses.includes(run.status) ? 'stopped' : run.status;
    // A path of the exporting machine, which is not valid here.
    const { dataDir: _dataDir, ...state } = run.state;
    const inserted = await this.#context.db.run(
      `INSERT INTO runs (run_id, name, status, config, state, create_time_ms, update_time_ms) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (run_id) DO NOTHING`,
      [
        run.runId,
        run.name,
        status,
        toJson(run.config, 'Run config'),
        toJson(state, 'Run state'),
        run.createTimeMs,
        run.updateTimeMs,
      ],
    );
    if (inserted === 0) throw alreadyExists('run', run.runId);
    this.#runId = run.runId;
    this.#context.changes.record({ kind: 'run', runId: run.runId, status });
  }

  async #writeMetrics(point: MetricPoint): Promise<void> {
    if (point.runId !== this.#runId) throw archiveError(`contains metrics of run ${point.runId}`);
    await writeMetrics(this.#context, point);
  }

  /** Existing resources are kept: the same id means the same resources or a later version. */
  async #writeResources(snapshot: ResourcesSnapshot): Promise<void> {
    assertId('resourcesId', snapshot.resourcesId);
    this.#revision = await this.#nextRevision();
    await this.#context.db.run(
      `INSERT INTO resources (resources_id, revision, version, resources, create_time_ms, update_time_ms)
       VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (resources_id) DO NOTHING`,
      [
        snapshot.resourcesId,
        this.#revision.last,
        snapshot.version,
        toJson(snapshot.resources, `Resources ${snapshot.resourcesId}`),
        snapshot.createTimeMs,
        snapshot.updateTimeMs,
      ],
    );
  }

  /** Imported resources get revisions before existing ones: the latest resources stay the latest. */
  async #nextRevision(): Promise<{ readonly last: number; readonly step: 1 | -1 }> {
    if (this.#revision !== null) return { ...this.#revision, last: this.#revision.last + this.#revision.step };
    const [row] = await this.#context.db.all('SELECT min(revision) AS first FROM resources');
    const isEmpty = row === undefined || row['first'] === null;
    return isEmpty ? { last: 1, step: 1 } : { last: readInteger(row, 'first') - 1, step: -1 };
  }

  async #writeRollout(rollout: Rollout, lastSequenceId: number): Promise<void> {
    if (rollout.runId !== this.#runId) throw archiveError(`contains rollout ${rollout.rolloutId} of another run`);
    assertId('rolloutId', rollout.rolloutId);
    assertId('resourcesId', rollout.resourcesId);
    const isOver = isTerminalRolloutStatus(rollout.status);
    const { config } = rollout;
    const inserted = await this.#context.db.run(
      `INSERT INTO rollouts (rollout_id, run_id, status, mode, resources_id, timeout_ms, unresponsive_ms, max_attempts,
         retry_condition, start_time_ms, end_time_ms, metadata, input)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (rollout_id) DO NOTHING`,
      [
        rollout.rolloutId,
        rollout.runId,
        // Imported rollouts must not be queued.
        isOver ? rollout.status : 'cancelled',
        rollout.mode,
        rollout.resourcesId,
        config.timeoutMs,
        config.unresponsiveMs,
        config.maxAttempts,
        toJson(config.retryCondition, 'Retry condition'),
        rollout.startTimeMs,
        isOver ? rollout.endTimeMs : this.#context.nowMs,
        rollout.metadata === null ? null : toJson(rollout.metadata, 'Rollout metadata'),
        await storeInput(this.#context, rollout),
      ],
    );
    if (inserted === 0) throw alreadyExists('rollout', rollout.rolloutId);
    if (lastSequenceId > 0) await writeSequenceId(this.#context, rollout.rolloutId, lastSequenceId);
    await requestTextIndex(this.#context, [rollout.rolloutId]);
    this.#rolloutId = rollout.rolloutId;
  }

  async #writeAttempt(attempt: Attempt, isCounted: boolean): Promise<void> {
    this.#assertOfRollout(attempt.rolloutId);
    assertId('attemptId', attempt.attemptId);
    assertId('workerId', attempt.workerId);
    const wasOpen = isOpen(attempt.status);
    await this.#context.db.run(
      `INSERT INTO attempts (rollout_id, attempt_id, sequence_id, status, worker_id, start_time_ms, end_time_ms,
         last_heartbeat_time_ms, is_counted, is_given_back, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        attempt.rolloutId,
        attempt.attemptId,
        attempt.sequenceId,
        wasOpen ? 'unresponsive' : attempt.status,
        attempt.workerId,
        attempt.startTimeMs,
        wasOpen ? this.#context.nowMs : attempt.endTimeMs,
        attempt.lastHeartbeatTimeMs,
        isCounted && !wasOpen ? 1 : 0,
        wasOpen ? 1 : 0,
        attempt.metadata === null ? null : toJson(attempt.metadata, 'Attempt metadata'),
      ],
    );
    // Attempts are ordered: the last one is the latest.
    await this.#context.db.run(
      'UPDATE rollouts SET latest_attempt_id = ?, reward = NULL, label = NULL WHERE rollout_id = ?',
      [attempt.attemptId, attempt.rolloutId],
    );
  }

  async #takeSpan(span: Span): Promise<void> {
    this.#assertOfRollout(span.rolloutId);
    this.#spans.push(span);
    if (this.#spans.length >= spansPerInsert) await this.finish();
  }

  #assertOfRollout(rolloutId: string): void {
    if (rolloutId !== this.#rolloutId) throw archiveError(`has a record of rollout ${rolloutId} out of order`);
  }
}

function alreadyExists(kind: 'run' | 'rollout', id: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `Import rejected: ${kind} ${id} already exists`,
    remedy: 'Delete the existing run first, or import the archive into another store.',
    details: { kind, id },
  });
}
