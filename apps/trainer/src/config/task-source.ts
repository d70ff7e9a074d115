import path from 'node:path';
import { quantityText } from '@agentlightning/core/internal';
import { z } from 'zod';
import { type StoredTasks, storedTasksSchema } from './sections/stored-tasks.ts';

/** Source of tasks: the path of a JSON-lines file, the tasks themselves, or tasks in the store. */
export type TaskSource = string | readonly unknown[] | StoredTasks;

/** Validates a source of tasks. */
export const taskSourceSchema: z.ZodType<TaskSource> = z.union(
  [z.string().min(1), z.array(z.unknown()).min(1), storedTasksSchema],
  {
    error:
      'must be the path of a JSON-lines file, a list of at least one task, or fromStore({ dataset: "name@1" }) or fromStore({ from: "deployment" })',
  },
);

/** Whether tasks are in the store. */
export function isStored(source: TaskSource | null): source is StoredTasks {
  return source !== null && typeof source !== 'string' && !Array.isArray(source);
}

/** Whether a source may have tasks: all except an empty list. */
export function hasTasks(source: TaskSource): boolean {
  return !Array.isArray(source) || source.length > 0;
}

/** An absolute path, or the source unchanged. */
export function absoluteSource(source: TaskSource, folder: string): TaskSource {
  return typeof source === 'string' ? path.resolve(folder, source) : source;
}

/** Description of a source, as stored with a run. */
export function recordedSource(source: TaskSource): string {
  if (typeof source === 'string') return source;
  return Array.isArray(source) ? `${quantityText(source.length, 'task')} in memory` : JSON.stringify(source);
}
