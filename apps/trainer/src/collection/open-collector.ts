import type { TaskSampler } from '../curriculum/task-sampler.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { AsyncCollector } from './async-collector.ts';
import type { Collector } from './collector.ts';
import { SyncCollector } from './sync-collector.ts';

/** Creates the configured collector of a session. */
export function openCollector(session: TrainingSession, sampler: TaskSampler): Collector {
  const isAsync = session.config.collection.mode === 'async';
  return isAsync ? new AsyncCollector(session, sampler) : new SyncCollector(session, sampler);
}
