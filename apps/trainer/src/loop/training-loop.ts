import { systemClock, traceActivity } from '@agentlightning/core/internal';
import type { RunEffort, TrainingSummary } from '@agentlightning/core/protocol';
import { AsyncCollector } from '../collection/async-collector.ts';
import { StoredCollector } from '../collection/stored-collector.ts';
import { SyncCollector } from '../collection/sync-collector.ts';
import { isLastStage, totalSteps } from '../config/stages.ts';
import { TaskSampler } from '../curriculum/task-sampler.ts';
import { assertWithinBudget } from '../run/budget.ts';
import type { Collector } from '../run/collector.ts';
import { completionReason } from '../run/completion-reason.ts';
import { presentStage } from '../run/run-stages.ts';
import type { RunState } from '../run/run-state.ts';
import { isStoredSession, type TrainingSession } from '../session/training-session.ts';
import { saveCheckpoint } from './checkpoints.ts';
import { endStage, saveStageStart } from './end-stage.ts';
import { evaluateGuardsBefore } from './evaluate-guards.ts';
import { finishRun } from './finish-run.ts';
import { evaluateBefore, evaluateDuring, isEvaluationDue, saveState } from './run-evaluations.ts';
import { summariseRun } from './summarise-run.ts';
import { TimeEstimate, trainStep } from './train-step.ts';

/**
 * The training loop: evaluate; for each step collect rollouts, plan and apply updates, publish the weights; then select the final
 * checkpoint and evaluate again.
 *
 * In a run with stages, the loop ends with the present stage: null when another one follows, which needs another session.
 *
 * A step is finished when its state and metrics are in the store, in one transaction. After a crash, the run resumes from
 * the last checkpoint, and reuses the rollouts that later steps have collected.
 */
export async function trainingLoop(session: TrainingSession): Promise<TrainingSummary | null> {
  const { run, config, signal } = session;
  const startedMs = systemClock.now();
  const timeEstimate = new TimeEstimate(totalSteps(config));
  let state = await saveInitialModel(session, session.state);
  state = await evaluateGuardsBefore(session, await evaluateBefore(session, state));
  const sampler = createTaskSampler(session, state);
  const collector = createCollector({ ...session, state }, sampler);
  while (completionReason(state, config) === null) {
    signal.throwIfAborted();
    await assertWithinBudget({ ...session, budget: config.limits.budget, effort: effortOf(session, state) }).catch(
      async (error: unknown) => {
        await saveLastModel(session, state);
        throw error;
      },
    );
    const current = state;
    const ids = { run_id: run.runId, step: state.finishedStep + 1 };
    state = isEvaluationDue(state, session)
      ? await traceActivity('train.evaluate', ids, () => evaluateDuring(session, current))
      : await traceActivity('train.step', ids, () =>
          trainStep({ session, state: current, sampler, collector, timeEstimate }),
        );
  }
  await collector.close();
  state = await saveLastModel(session, state);
  if (!isLastStage(config)) {
    await endStage(session, state, completionReason(state, config) ?? 'steps');
    return null;
  }
  state = await finishRun(session, state);
  return summariseRun({ run, state, tasks: session.tasks, config, seconds: (systemClock.now() - startedMs) / 1000 });
}

function createCollector(session: TrainingSession, sampler: TaskSampler): Collector {
  if (isStoredSession(session)) return new StoredCollector(session, sampler);
  return session.config.collection.mode === 'async'
    ? new AsyncCollector(session, sampler)
    : new SyncCollector(session, sampler);
}

function effortOf({ workedSeconds }: TrainingSession, { effort }: RunState): RunEffort {
  return { ...effort, seconds: workedSeconds() };
}

async function saveInitialModel(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.checkpoint !== null) return state;
  const { start } = presentStage(state);
  const saved = start === null ? saveCheckpoint(session, state, 0) : saveStageStart(session, state, start);
  return await saveState(session, { ...state, ...(await saved) });
}

/** Saves a checkpoint of the last step: an evaluation may have ended the run between two checkpoints. */
async function saveLastModel(session: TrainingSession, state: RunState): Promise<RunState> {
  if (state.checkpoint?.step === state.finishedStep) return state;
  const passRates = { ...state.passRates, saved: state.passRates.current };
  const taskTrials = { ...state.taskTrials, saved: state.taskTrials.current };
  return await saveState(session, {
    ...state,
    ...(await saveCheckpoint(session, state, state.finishedStep)),
    passRates,
    taskTrials,
  });
}

/** The task sampler of a session, with the recorded results of its run. */
function createTaskSampler({ config, tasks }: TrainingSession, { passRates, taskTrials }: RunState): TaskSampler {
  const { collection, seed, reward } = config;
  const { curriculum } = collection;
  const rewardRange = reward.range ?? [0, 1];
  return new TaskSampler({
    tasks: tasks.train,
    seed,
    curriculum,
    passRates: passRates.current,
    trials: taskTrials.current,
    reward,
    rewardRange,
  });
}
