import { loadTasks } from '../config/load-tasks.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RunTasks } from './run-shape.ts';

/** Reads and validates the tasks of a run. @throws AgentLightningError TASK_FILE */
export async function loadRunTasks({
  tasks,
  taskSchema,
}: Pick<ResolvedConfig, 'tasks' | 'taskSchema'>): Promise<RunTasks> {
  return {
    train: await loadTasks(tasks.train, taskSchema),
    heldOut: await loadTasks(tasks.test, taskSchema),
    validation: tasks.validation === null ? null : await loadTasks(tasks.validation, taskSchema),
  };
}
