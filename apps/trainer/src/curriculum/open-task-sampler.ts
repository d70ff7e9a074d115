import type { TrainingSession } from '../session/training-session.ts';
import { TaskSampler } from './task-sampler.ts';

/** Creates the task sampler of a session, with the recorded results of its run. */
export function openTaskSampler({
  config,
  tasks,
  state,
}: Pick<TrainingSession, 'config' | 'tasks' | 'state'>): TaskSampler {
  const { curriculum, seed, evaluation } = config;
  return new TaskSampler({
    tasks: tasks.train,
    seed,
    curriculum,
    passRates: state.passRates.current,
    rewardRange: evaluation.rewardRange ?? [0, 1],
  });
}
