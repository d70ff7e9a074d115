import { findResources } from '../operations/records/read-resources.ts';
import { loadRun, queryMetrics } from '../operations/records/read-runs.ts';
import { readPages } from '../sql/list-pages.ts';
import type { OperationRunner } from '../sql/operation-runner.ts';
import { packArchive } from './pack-archive.ts';
import {
  type ExportedRollout,
  readExportedRollout,
  readRolloutIds,
  readSpansAfter,
  type SpanPosition,
} from './read-archive-parts.ts';
import { type ArchiveRecord, archiveFormat, archiveVersion } from './run-archive-record.ts';

/**
 * Exports a run as an archive. It is read in batches on demand: each batch is a separate transaction.
 *
 * @throws NotFoundError when there is no such run
 */
export async function* exportRun(runner: OperationRunner, runId: string): AsyncGenerator<Uint8Array> {
  // Checked first: an unknown run is an error, not a truncated archive.
  await runner.read((context) => loadRun(context, runId));
  yield* packArchive(recordsOf(runner, runId));
}

async function* recordsOf(runner: OperationRunner, runId: string): AsyncGenerator<ArchiveRecord> {
  const run = await runner.read((context) => loadRun(context, runId));
  yield { kind: 'header', format: archiveFormat, version: archiveVersion, run_id: runId };
  yield { kind: 'run', run };
  const metrics = { runId, query: {} };
  const pages = readPages({}, (window) => runner.read((context) => queryMetrics(context, metrics, window)));
  for await (const { items } of pages) for (const point of items) yield { kind: 'metrics', metrics: point };
  const writtenResources = new Set<string>();
  for await (const rolloutId of rolloutIdsOf(runner, runId)) {
    const exported = await runner.read((context) => readExportedRollout(context, rolloutId));
    // Deleted meanwhile.
    if (exported === null) continue;
    const { resourcesId } = exported.rollout;
    if (resourcesId !== null && !writtenResources.has(resourcesId)) {
      writtenResources.add(resourcesId);
      const record = await resourcesRecord(runner, resourcesId);
      if (record !== null) yield record;
    }
    yield* rolloutRecords(runner, exported);
  }
}

async function* rolloutIdsOf(runner: OperationRunner, runId: string): AsyncGenerator<string> {
  const nextAfter = (after: number | null): ReturnType<typeof readRolloutIds> =>
    runner.read((context) => readRolloutIds(context, runId, after));
  for (let part = await nextAfter(null); part.length > 0; part = await nextAfter(part.at(-1)?.position ?? null)) {
    for (const { rolloutId } of part) yield rolloutId;
  }
}

/** Resources without the API keys of model endpoints: archives are shared. */
async function resourcesRecord(runner: OperationRunner, resourcesId: string): Promise<ArchiveRecord | null> {
  const snapshot = await runner.read((context) => findResources(context, resourcesId));
  // A client of the 0.3 protocol may name resources that do not exist.
  if (snapshot === null) return null;
  const withoutKeys = Object.entries(snapshot.resources).map(([name, resource]) => [
    name,
    'apiKey' in resource ? { ...resource, apiKey: null } : resource,
  ]);
  const resources = { ...snapshot, resources: Object.fromEntries(withoutKeys) };
  return { kind: 'resources', resources };
}

async function* rolloutRecords(runner: OperationRunner, exported: ExportedRollout): AsyncGenerator<ArchiveRecord> {
  const { rollout, attempts, lastSequenceId } = exported;
  yield { kind: 'rollout', rollout, last_sequence_id: lastSequenceId };
  for (const { attempt, isCounted } of attempts) {
    yield { kind: 'attempt', attempt, is_counted: isCounted };
  }
  const known = new Set(attempts.map(({ attempt }) => attempt.attemptId));
  const nextAfter = (after: SpanPosition | null): ReturnType<typeof readSpansAfter> =>
    runner.read((context) => readSpansAfter(context, rollout.rolloutId, after));
  for (let spans = await nextAfter(null); spans.length > 0; spans = await nextAfter(spans.at(-1) ?? null)) {
    for (const span of spans) {
      // Attempts that were opened after the rollout was read are not exported.
      if (known.has(span.attemptId)) yield { kind: 'span', span };
    }
  }
}
