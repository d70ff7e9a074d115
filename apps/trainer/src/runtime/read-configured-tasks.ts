import type { JsonValue } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { loadTasks } from '../config/load-tasks.ts';
import type { SharedSettings } from '../config/shared-settings.ts';
import { isStored, type TaskSource } from '../config/task-source.ts';
import { readTasks } from '../stored-data/read-tasks.ts';
import { openStoreByUrl } from './open-store-by-url.ts';

/**
 * Reads tasks of a configuration outside of a run, with those that its store has now.
 *
 * @throws AgentLightningError as `readTasks`, and those of a store that cannot be opened
 */
export async function readConfiguredTasks(
  source: TaskSource,
  { storeUrl, storeApiKey, taskSchema }: Pick<SharedSettings, 'storeUrl' | 'storeApiKey' | 'taskSchema'>,
): Promise<readonly JsonValue[]> {
  if (!isStored(source)) return await loadTasks(source, taskSchema);
  const store = await openStoreByUrl({ url: storeUrl, apiKey: storeApiKey });
  try {
    return await readTasks(source, { store, untilMs: systemClock.now(), schema: taskSchema });
  } finally {
    await store.close();
  }
}
