import { collectPhase } from '../rollouts/collect-phase.ts';
import { tasksOfStep } from '../rollouts/rollout-plan.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { AsyncCollector } from './async-collector.ts';
import type { Collector } from './collector.ts';

/** Creates the configured collector of a session. */
export function openCollector(session: TrainingSession): Collector {
  return session.config.collection.mode === 'async' ? new AsyncCollector(session) : syncCollector(session);
}

/** Each step enqueues its rollouts, and waits for all of them. */
function syncCollector(session: TrainingSession): Collector {
  const { config, tasks, groupSize } = session;
  return {
    collect: async (step) => {
      const rollouts = await collectPhase(session, {
        phase: 'step',
        step,
        tasks: tasksOfStep({ tasks: tasks.train, tasksPerStep: config.tasksPerStep, step, seed: config.seed }),
        rolloutsPerTask: groupSize,
      });
      return { rollouts, isOnPolicy: true, metrics: {} };
    },
    state: () => null,
    close: async () => undefined,
  };
}
