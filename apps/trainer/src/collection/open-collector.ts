import type { TrainingSession } from '../session/training-session.ts';
import { AsyncCollector } from './async-collector.ts';
import type { Collector } from './collector.ts';
import { SyncCollector } from './sync-collector.ts';

/** Creates the configured collector of a session. */
export function openCollector(session: TrainingSession): Collector {
  return session.config.collection.mode === 'async' ? new AsyncCollector(session) : new SyncCollector(session);
}
