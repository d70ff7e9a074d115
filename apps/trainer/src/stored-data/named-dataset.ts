import { createHash } from 'node:crypto';
import {
  AgentLightningError,
  type JsonObject,
  type JsonValue,
  type Rollout,
  type Run,
  type Store,
} from '@agentlightning/core';
import { parse, systemClock } from '@agentlightning/core/internal';
import { assertId } from '@agentlightning/core/protocol';
import { defaultRolloutConfig } from '@agentlightning/core/store';
import { createRunArchive } from '@agentlightning/store';
import { z } from 'zod';

/** The part of a data set that a line belongs to. */
export type DatasetPart = 'train' | 'test';

/** What the lines of a data set are. */
export type DatasetFormat = 'chat' | 'preference' | 'tasks';

/** The number of lines of a part, and the SHA-256 of its JSON lines. */
export interface PartRecord {
  readonly lines: number;
  readonly sha256: string;
}

/** A version of a data set in the store. */
export interface DatasetVersion {
  /** Such as `support-pairs@3`. */
  readonly id: string;
  readonly format: DatasetFormat;
  readonly parts: Readonly<Record<DatasetPart, PartRecord>>;
  /** How the lines were chosen. */
  readonly selection: JsonObject;
  /** The user of the machine that made it. */
  readonly by: string;
  /** Unix milliseconds. */
  readonly createTimeMs: number;
}

/** The lines of a data set by part. */
export type DatasetLines = Readonly<Record<DatasetPart, readonly JsonValue[]>>;

/** A data set to store. */
export interface NewDataset extends Pick<DatasetVersion, 'format' | 'selection' | 'by'> {
  /** Without a version. */
  readonly name: string;
  readonly lines: DatasetLines;
}

const partRecord: z.ZodType<PartRecord> = z.object({ lines: z.int(), sha256: z.string() });

const recordSchema = z.object({
  format: z.enum(['chat', 'preference', 'tasks']),
  parts: z.object({ train: partRecord, test: partRecord }),
  selection: z.record(z.string(), z.json()),
  by: z.string(),
});

/** A name of a data set with a version. */
const versionPattern = /^(?<name>[^@]+)@(?<version>[1-9]\d*)$/;

/** Two processes that store versions of one data set at the same time. */
const maxTries = 10;

/**
 * Stores the next version of a data set: a run of the kind `dataset`, whose rollouts are the lines. It is created atomically, and
 * does not change. Where the latest version has the same lines, that one is returned.
 *
 * @throws AgentLightningError CONFIG for a name with a version, or without a line; CONFLICT when the name is that of another run
 */
export async function storeDataset(
  store: Store,
  { name, lines, ...given }: NewDataset,
): Promise<DatasetVersion & { readonly isNew: boolean }> {
  assertId('name', `${name}@1`);
  if (name.includes('@')) throw invalidName(name);
  const parts = { train: partOf(lines.train), test: partOf(lines.test) };
  if (parts.train.lines + parts.test.lines === 0) throw withoutLines(name);
  for (let tries = 1; ; tries += 1) {
    const latest = (await findDatasets(store, name)).at(-1);
    const isSame = latest?.parts.train.sha256 === parts.train.sha256 && latest.parts.test.sha256 === parts.test.sha256;
    if (latest !== undefined && isSame && latest.format === given.format) return { ...latest, isNew: false };
    const id = `${name}@${versionOf(latest?.id) + 1}`;
    const createTimeMs = systemClock.now();
    const run: Run = {
      runId: id,
      name,
      status: 'finished',
      config: JSON.parse(JSON.stringify({ ...given, parts })) as JsonObject,
      state: { kind: 'dataset' },
      createTimeMs,
      updateTimeMs: createTimeMs,
    };
    try {
      await store.importRun(createRunArchive(run, rolloutsOf(run, lines)));
      return { id, ...given, parts, createTimeMs, isNew: true };
    } catch (error) {
      // Another process has just stored this version.
      const isTaken = AgentLightningError.isInstance(error) && error.code === 'CONFLICT';
      if (!isTaken || tries === maxTries) throw error;
    }
  }
}

/** The versions of data sets, oldest first. @param name - only those of this data set; null for all */
export async function findDatasets(store: Store, name: string | null = null): Promise<readonly DatasetVersion[]> {
  const { items } = await store.queryRuns({ kind: 'dataset' });
  const found = items.filter((run) => isDataset(run) && (name === null || run.runId.split('@')[0] === name));
  return found.map(datasetOf).toSorted(byVersion);
}

/**
 * A version of a data set.
 *
 * @throws AgentLightningError CONFIG for a text without a version, NOT_FOUND for one that does not exist
 */
export async function getDataset(store: Store, id: string): Promise<DatasetVersion> {
  const versions = async (): Promise<string> => {
    const known = (await findDatasets(store, id.split('@')[0] ?? id)).map((each) => each.id);
    return known.length === 0 ? '`agl datasets` lists those of a store.' : `Use one of ${known.join(', ')}.`;
  };
  if (!versionPattern.test(id)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `"${id}" is not a version of a data set, such as support-tasks@3`,
      remedy: await versions(),
    });
  }
  const run = await store.getRun(id).catch((error: unknown) => {
    if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return null;
    throw error;
  });
  if (run !== null && isDataset(run)) return datasetOf(run);
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the store has no data set "${id}"`,
    remedy: await versions(),
  });
}

/**
 * The lines of a part of a version.
 *
 * @throws AgentLightningError as {@link getDataset}; CONFLICT when the lines are not those that were stored
 */
export async function readDataset(store: Store, id: string, part: DatasetPart): Promise<readonly JsonValue[]> {
  const { parts } = await getDataset(store, id);
  const { items } = await store.queryRollouts({ runId: id, modeIn: [part], sortBy: 'rolloutId' });
  const lines = items.map(({ input }) => input);
  const { sha256 } = partOf(lines);
  if (sha256 === parts[part].sha256) return lines;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `the data set ${id} was changed: ${lines.length} of ${parts[part].lines} lines of the part ${part}, with the SHA-256 ${sha256} instead of ${parts[part].sha256}`,
    remedy: 'Store it again as a new version, with `agl dataset … --name`.',
    details: { id, part },
  });
}

/** The lines as the text of a file. */
export function jsonLines(lines: readonly JsonValue[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function* rolloutsOf({ runId, createTimeMs }: Run, lines: DatasetLines): Generator<Rollout> {
  for (const mode of ['train', 'test'] as const) {
    for (const [index, input] of lines[mode].entries()) {
      yield {
        // In the order of the lines.
        rolloutId: `${runId}:${mode}-${String(index + 1).padStart(indexDigits, '0')}`,
        input,
        status: 'succeeded',
        mode,
        resourcesId: null,
        runId,
        config: defaultRolloutConfig,
        metadata: null,
        startTimeMs: createTimeMs,
        endTimeMs: createTimeMs,
      };
    }
  }
}

/** Digits of the number of a line, so that ids are in the order of lines. */
const indexDigits = 7;

function partOf(lines: readonly JsonValue[]): PartRecord {
  return { lines: lines.length, sha256: createHash('sha256').update(jsonLines(lines)).digest('hex') };
}

function isDataset({ runId, state }: Run): boolean {
  return state['kind'] === 'dataset' && versionPattern.test(runId);
}

function datasetOf({ runId, config, createTimeMs }: Run): DatasetVersion {
  return { id: runId, ...parse(recordSchema, config, `the record of the data set ${runId}`), createTimeMs };
}

function versionOf(id: string | undefined): number {
  return Number(id?.split('@')[1] ?? 0);
}

function byVersion(one: DatasetVersion, other: DatasetVersion): number {
  const [first, second] = [one, other].map(({ id }) => id.split('@')[0] ?? '');
  return first === second ? versionOf(one.id) - versionOf(other.id) : String(first) < String(second) ? -1 : 1;
}

function invalidName(name: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `"${name}" is not the name of a data set: a version is not given, but follows from those in the store`,
    remedy: `Use the name alone: --name ${name.split('@')[0]}.`,
  });
}

function withoutLines(name: string): AgentLightningError {
  return new AgentLightningError({
    code: 'NOTHING_TO_TRAIN',
    message: `the data set ${name} would have no line`,
    remedy: 'Select more: a longer --since, or a lower --min-score.',
  });
}
