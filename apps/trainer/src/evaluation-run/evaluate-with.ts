import { AgentLightningError, type JsonValue } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import type { ResolvedRun } from '../config/resolve-run.ts';
import type { TaskSource } from '../config/task-source.ts';
import { collectEvaluation } from '../evaluation/collect-evaluation.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { planRollouts } from '../rollouts/rollout-plan.ts';
import { writeState } from '../run/run-state.ts';
import { type MeasuredRewards, measureRewards } from '../run/stored-evaluation.ts';
import { readConfiguredTasks } from '../runtime/read-configured-tasks.ts';
import { withClosers } from '../session/close-all.ts';
import { compareSubjects } from './compare-subjects.ts';
import type { EvaluateOptions } from './evaluate-options.ts';
import type { EvaluationEvent } from './evaluation-event.ts';
import type { EvaluatedSubject, EvaluationReport } from './evaluation-report.ts';
import {
  type EvaluationRunState,
  type EvaluationSession,
  openEvaluationSession,
  recordEnd,
} from './evaluation-session.ts';
import { type EvaluationSettings, evaluationSettings } from './evaluation-settings.ts';
import { openSubject } from './open-subject.ts';
import type { Subject } from './subject.ts';
import { summariseSubject } from './summarise-subject.ts';

/** Evaluated tasks of the configuration: those that select checkpoints, or all held-out ones. */
export type TaskSplit = 'validation' | 'test';

/**
 * Evaluates a model or prompts on tasks; agents run as in training, and the rollouts are recorded as a run of the store.
 *
 * @throws AgentLightningError CONFIG, NOT_FOUND or TASK_FILE for wrong input; UNREACHABLE or RUNTIME_UNAVAILABLE for a service that
 *   does not respond in time; AGENT_FAILED or UPSTREAM_FAILED when every rollout failed
 */
export async function evaluateWith(
  config: ResolvedRun,
  options: EvaluateOptions & { readonly split?: TaskSplit } = {},
): Promise<EvaluationReport> {
  const startedMs = systemClock.now();
  const settings = evaluationSettings(sampledBy(config, options), options.endpoint ?? null);
  const tasks = await tasksOf(settings, options);
  const samples = samplesOf(settings, options);
  const emit = options.onEvent ?? ((_event: EvaluationEvent): void => undefined);
  const { of = options.endpoint === undefined ? 'base' : 'endpoint', against } = options;
  const references = against === undefined ? [of] : [of, against];
  const report = await withClosers(emit, async (onOpen) => {
    const request = { settings, options, purpose: 'evaluation', references, tasks, emit, onOpen } as const;
    const session = await openEvaluationSession(request);
    return await recordEnd(session, async () => {
      const { run, subjects } = session;
      const labels = subjects.map(({ label }) => label);
      emit({ type: 'started', runId: run.runId, name: run.name, tasks: tasks.length, samples, subjects: labels });
      const result = await evaluateSubjects(session, { tasks, samples });
      await session.store.updateRun(run.runId, { status: 'finished', state: writeState(stateOf(result)) });
      const seconds = (systemClock.now() - startedMs) / 1000;
      return { ...result, runId: run.runId, seconds, storeUrl: settings.shared.storeUrl };
    });
  });
  emit({ type: 'finished', report });
  return report;
}

/** The configuration with the sampling of the options. */
function sampledBy<TConfig extends ResolvedRun>(config: TConfig, { sampling }: EvaluateOptions): TConfig {
  return sampling === 'agent' ? { ...config, evaluation: { ...config.evaluation, sampling: {} } } : config;
}

/** The tasks and how often each is run. */
interface Occasion {
  readonly tasks: readonly JsonValue[];
  readonly samples: number;
}

async function evaluateSubjects(
  session: EvaluationSession,
  { tasks, samples }: Occasion,
): Promise<Omit<EvaluationReport, 'runId' | 'seconds' | 'storeUrl'>> {
  const { settings, subjects, emit } = session;
  const { maxMissingShare } = settings.evaluation;
  const measured: { readonly summary: EvaluatedSubject; readonly rewards: MeasuredRewards }[] = [];
  for (const [index, subject] of subjects.entries()) {
    const collected = await runSubject(session, subject, { tasks, samples, index });
    const rewards = measureRewards(collected, settings.reward, samples);
    const summary = summariseSubject(subject.label, { collected, rewards, settings, emit });
    measured.push({ summary, rewards });
    emit({ type: 'evaluated', summary });
  }
  const [of, against] = measured;
  if (of === undefined) throw new AgentLightningError({ code: 'INTERNAL', message: 'an evaluation without a subject' });
  const comparison =
    against === undefined ? null : compareSubjects({ of: of.rewards, against: against.rewards }, { tasks, settings });
  const shares = [...measured.map(({ summary }) => summary.missingShare), comparison?.missingShare ?? 0];
  return {
    tasks: tasks.length,
    samples,
    of: of.summary,
    against: against?.summary ?? null,
    comparison,
    isDecided: shares.every((share) => share <= maxMissingShare),
    maxMissingShare,
  };
}

async function runSubject(
  session: EvaluationSession,
  subject: Subject,
  { tasks, samples, index }: Occasion & { readonly index: number },
): Promise<readonly FinishedRollout[]> {
  const { settings, store, run, emit, signal } = session;
  return await withClosers(emit, async (onOpen) => {
    const { resourcesId, assertHealthy } = await openSubject(subject, session, onOpen);
    const requests = planRollouts({
      runId: run.runId,
      phase: `evaluation-${index + 1}`,
      // Equal for all subjects: their rollouts differ in the model and the prompts only.
      samplingPhase: 'evaluation',
      step: 0,
      mode: 'test',
      tasks: tasks.map((input, task) => ({ index: task, input })),
      rolloutsPerTask: samples,
      resourcesId,
      timeoutMs: settings.shared.limits.rolloutTimeoutMs,
      maxAttempts: settings.shared.limits.maxAttempts,
    });
    const onProgress = (finished: number, total: number): void =>
      emit({ type: 'rollout-finished', subject: subject.label, finished, total });
    const { scoring } = settings.shared.rewards;
    const warn = (message: string): void => emit({ type: 'warning', message });
    return await collectEvaluation(requests, { store, emit, signal, assertHealthy, onProgress, scoring, warn });
  });
}

function stateOf({
  of,
  against,
  comparison,
}: Pick<EvaluationReport, 'of' | 'against' | 'comparison'>): EvaluationRunState {
  return { kind: 'evaluation', before: against, after: of, comparison };
}

async function tasksOf(
  settings: EvaluationSettings,
  { tasks: given, split = 'test' }: Pick<EvaluateOptions, 'tasks'> & { readonly split?: TaskSplit },
): Promise<readonly JsonValue[]> {
  const source: TaskSource | null = given ?? settings.tasks[split];
  if (source === null) throw noTasks();
  const tasks = await readConfiguredTasks(source, settings.shared);
  if (tasks.length === 0) throw noTasks();
  // Trainings evaluate these tasks.
  return given === undefined && split === 'validation' ? tasks.slice(0, settings.evaluation.tasks) : tasks;
}

function samplesOf(
  { evaluation }: EvaluationSettings,
  { samples = evaluation.rolloutsPerTask }: EvaluateOptions,
): number {
  if (Number.isInteger(samples) && samples >= 1) return samples;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `invalid number of samples: ${samples}`,
    remedy: 'Use a whole number of at least 1.',
  });
}

function noTasks(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'there are no test tasks to evaluate on',
    remedy: 'Set `tasks.test` in the configuration, or pass `--tasks <file.jsonl>` (`tasks` in code).',
  });
}
