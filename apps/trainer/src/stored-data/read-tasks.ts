import { AgentLightningError, type JsonValue, type Store } from '@agentlightning/core';
import type { TaskSchema } from '@agentlightning/core/internal';
import { loadTasks } from '../config/load-tasks.ts';
import { sinceMs } from '../config/sections/since.ts';
import type { StoredTasks, StoredTraces } from '../config/sections/stored-tasks.ts';
import { isStored, type TaskSource } from '../config/task-source.ts';
import { getDataset, readDataset } from './named-dataset.ts';
import { productionLines } from './production-lines.ts';

/** Where tasks are read, and until when. */
export interface TaskReading {
  readonly store: Store;
  /** Traces that ended later, and later feedback, are left out. In Unix milliseconds. */
  readonly untilMs: number;
  /** The shape of a task; null accepts any JSON object. */
  readonly schema: TaskSchema | null;
}

/** The tasks of sources, by name; null for a source that is null. */
export type TasksOf<TSources> = {
  readonly [TName in keyof TSources]: readonly JsonValue[] | Extract<TSources[TName], null>;
};

/**
 * Reads the sources that are not in the store at once, so that an invalid file is found before a run begins.
 *
 * @returns reads the others, and returns all
 * @throws AgentLightningError as {@link readTasks}
 */
export async function readTaskFiles<TSources extends Readonly<Record<string, TaskSource | null>>>(
  sources: TSources,
  schema: TaskSchema | null,
): Promise<(stored: Omit<TaskReading, 'schema'>) => Promise<TasksOf<TSources>>> {
  const entries: [string, StoredTasks | readonly JsonValue[] | null][] = [];
  for (const [name, source] of Object.entries(sources)) {
    entries.push([name, source === null || isStored(source) ? source : await loadTasks(source, schema)]);
  }
  return async (stored) => {
    const read = entries.map(async ([name, known]) => {
      const tasks = known !== null && 'length' in known ? known : null;
      return [name, tasks ?? (known === null ? null : await readTasks(known, { ...stored, schema }))] as const;
    });
    return Object.fromEntries(await Promise.all(read)) as TasksOf<TSources>;
  };
}

/** Share of the users in the part `test` of traces. */
const defaultTestShare = 0.2;

/**
 * Reads tasks of any source, and checks each.
 *
 * @throws AgentLightningError as `loadTasks`; CONFIG for a data set of another format, NOT_FOUND for an unknown data set or deployment,
 *   NOTHING_TO_TRAIN without a task
 */
export async function readTasks(
  source: TaskSource,
  { store, untilMs, schema }: TaskReading,
): Promise<readonly JsonValue[]> {
  if (!isStored(source)) return await loadTasks(source, schema);
  const tasks = await readStoredTasks(store, source, untilMs);
  if (tasks.length === 0) throw nothingStored(source);
  return await loadTasks(tasks, schema);
}

async function readStoredTasks(store: Store, source: StoredTasks, untilMs: number): Promise<readonly JsonValue[]> {
  if ('from' in source) return await readInputs(store, source, untilMs);
  const { format } = await getDataset(store, source.dataset);
  if (format === 'tasks') return await readDataset(store, source.dataset, source.part ?? 'train');
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `the data set ${source.dataset} has examples of the format ${format}, not tasks`,
    remedy: 'Train on it with `data: fromStore(…)`, or store tasks: `agl dataset --format tasks --name <name>`.',
  });
}

async function readInputs(store: Store, source: StoredTraces, untilMs: number): Promise<readonly JsonValue[]> {
  await store.getRun(source.from);
  const { part } = source;
  const lines = productionLines(
    store,
    {
      deployment: source.from,
      fromMs: source.since === undefined ? null : sinceMs(source.since, untilMs),
      untilMs,
      format: 'tasks',
      style: 'openai',
      minScore: source.minScore ?? null,
      minGap: null,
      testShare: part === undefined ? 0 : (source.testShare ?? defaultTestShare),
      splitBy: source.splitBy ?? 'user',
    },
    { rollouts: 0, lines: 0, duplicates: 0 },
  );
  const tasks: JsonValue[] = [];
  for await (const each of lines) if (each.part === (part ?? 'train')) tasks.push(each.line);
  return tasks;
}

function nothingStored(source: StoredTasks): AgentLightningError {
  return new AgentLightningError({
    code: 'NOTHING_TO_TRAIN',
    message: `there is no task in fromStore(${JSON.stringify(source)})`,
    remedy:
      'from' in source
        ? `Read \`agl rollouts --run ${source.from}\`: select more, or record traces with an input.`
        : `Choose the other part; \`agl datasets ${source.dataset}\` shows both.`,
  });
}
