import path from 'node:path';
import { quantityText } from '@agentlightning/core/internal';
import { z } from 'zod';

/** Source of tasks: the path of a JSON-lines file, or the tasks themselves. */
export type TaskSource = string | readonly unknown[];

/** Validates a source of tasks. */
export const taskSourceSchema: z.ZodType<TaskSource> = z.union([z.string().min(1), z.array(z.unknown()).min(1)], {
  error: 'must be the path of a JSON-lines file or a list of at least one task',
});

/** An absolute path, or the tasks unchanged. */
export function absoluteSource(source: TaskSource, folder: string): TaskSource {
  return typeof source === 'string' ? path.resolve(folder, source) : source;
}

/** Description of a source, as stored with a run. */
export function recordedSource(source: TaskSource): string {
  return typeof source === 'string' ? source : `${quantityText(source.length, 'task')} in memory`;
}
