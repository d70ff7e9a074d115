import { finalReward } from '@agentlightning/algorithms/internal';
import { AgentLightningError, type JsonValue } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { isPromptSearch, type ResolvedRun } from '../config/resolve-run.ts';
import { severalModelNames, unmatchedAgents } from '../loop/check-selectors.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { collectRollouts } from '../rollouts/collect-rollouts.ts';
import { failureText } from '../rollouts/rollout-failures.ts';
import { planRollouts } from '../rollouts/rollout-plan.ts';
import { readConfiguredTasks } from '../runtime/read-configured-tasks.ts';
import { withClosers } from '../session/close-all.ts';
import { primaryReward } from '../trace/conversation.ts';
import type { DevOptions, DevReport, DevRollout } from './dev-options.ts';
import type { EvaluationEvent } from './evaluation-event.ts';
import { type EvaluationSession, openEvaluationSession, recordEnd } from './evaluation-session.ts';
import { type EvaluationSettings, evaluationSettings } from './evaluation-settings.ts';
import { openSubject } from './open-subject.ts';
import { scriptedModelName, serveScript } from './scripted-endpoint.ts';
import { trainingObstacles } from './training-obstacles.ts';

/** Default number of tasks. */
const defaultTasks = 3;

/**
 * Runs an agent on a few tasks without training, and reports problems that would prevent training on its rollouts.
 *
 * @throws AgentLightningError CONFIG, NOT_FOUND or TASK_FILE for wrong input; UNAUTHENTICATED when the model endpoint rejects its
 *   key; UNREACHABLE or RUNTIME_UNAVAILABLE for a service that does not respond in time. Failures of the agent are part of the result
 */
export async function devWith(config: ResolvedRun, options: DevOptions = {}): Promise<DevReport> {
  const emit = options.onEvent ?? ((_event: EvaluationEvent): void => undefined);
  const { script } = options;
  if (script === undefined) return await runTasks(config, { ...options, emit });
  const endpoint = await serveScript(script);
  const model = { baseUrl: endpoint.baseUrl, model: scriptedModelName };
  try {
    const report = await runTasks(config, { ...options, emit, of: 'endpoint', endpoint: model });
    const difference = await endpoint.finish();
    return difference === null ? report : { ...report, problems: [...report.problems, difference] };
  } finally {
    await endpoint.finish();
  }
}

type Request = DevOptions & { readonly emit: (event: EvaluationEvent) => void };

async function runTasks(config: ResolvedRun, options: Request): Promise<DevReport> {
  const { emit, of = options.endpoint === undefined ? 'base' : 'endpoint' } = options;
  const settings = developmentSettings(config, options);
  const tasks = await tasksOf(settings, options.tasks);
  return await withClosers(emit, async (onOpen) => {
    const request = { settings, options, purpose: 'development', references: [of], tasks, emit, onOpen } as const;
    const session = await openEvaluationSession(request);
    return await recordEnd(session, async () => {
      const { run, store, subjects } = session;
      const labels = subjects.map(({ label }) => label);
      emit({ type: 'started', runId: run.runId, name: run.name, tasks: tasks.length, samples: 1, subjects: labels });
      const collected = await collect(session, tasks);
      await store.updateRun(run.runId, { status: 'finished' });
      const rollouts = await Promise.all(collected.map((each) => devRollout(session, each)));
      const problems = [...rollouts.flatMap(namedProblems), ...unmatchedSelectors(config, collected)];
      return { runId: run.runId, rollouts, problems, storeUrl: settings.shared.storeUrl };
    });
  });
}

/** Rollouts have one attempt; with a script they run sequentially, because its responses are in the order of the calls. */
function developmentSettings(config: ResolvedRun, { endpoint, script }: DevOptions): EvaluationSettings {
  const settings = evaluationSettings(config, endpoint ?? null, script !== undefined);
  const changes = { maxAttempts: 1, ...(script === undefined ? {} : { concurrency: 1, workers: 1 }) };
  return { ...settings, shared: { ...settings.shared, ...changes } };
}

async function collect(session: EvaluationSession, tasks: readonly JsonValue[]): Promise<readonly FinishedRollout[]> {
  const { settings, store, run, emit, signal, subjects } = session;
  const [subject] = subjects;
  if (subject === undefined)
    throw new AgentLightningError({ code: 'INTERNAL', message: 'a session without a subject' });
  return await withClosers(emit, async (onOpen) => {
    const { resourcesId, assertHealthy } = await openSubject(subject, session, onOpen);
    const requests = planRollouts({
      runId: run.runId,
      phase: 'development',
      step: 0,
      mode: 'test',
      tasks: tasks.map((input, index) => ({ index, input })),
      rolloutsPerTask: 1,
      resourcesId,
      timeoutMs: settings.shared.limits.rolloutTimeoutMs,
      maxAttempts: settings.shared.limits.maxAttempts,
    });
    const onProgress = (finished: number, total: number): void =>
      emit({ type: 'rollout-finished', subject: subject.label, finished, total });
    const { scoring } = settings.shared.rewards;
    const warn = (message: string): void => emit({ type: 'warning', message });
    return await collectRollouts(requests, { store, signal, assertHealthy, onProgress, scoring, warn });
  });
}

async function devRollout(
  { store, settings: { config, isScripted } }: EvaluationSession,
  finished: FinishedRollout,
): Promise<DevRollout> {
  const { rollout, spans, failure } = finished;
  const { items: attempts } = await store.queryAttempts(rollout.rolloutId);
  const reward = isPromptSearch(config) ? primaryReward(spans) : finalReward(spans, config.reward.choice);
  const hasCall = spans.some((span) => modelCallFromSpan(span) !== null);
  const problems = [
    ...(failure === null ? [] : [`the rollout failed: ${await failureText(store, finished)}`]),
    ...(failure === null && reward === null ? ['no reward: return a number from the agent, or call emitReward'] : []),
    ...(hasCall || failure !== null
      ? []
      : [
          'no model call was recorded: send the calls of the agent through the adapter of its framework (`agl init` adds it)',
        ]),
    ...(isPromptSearch(config) || !hasCall || failure !== null ? [] : trainingObstacles(finished, config, isScripted)),
  ];
  return { rollout, attempts, spans, reward, problems };
}

function namedProblems({ rollout, problems }: DevRollout): readonly string[] {
  return problems.map((problem) => `${rollout.rolloutId}: ${problem}`);
}

function unmatchedSelectors(config: ResolvedRun, collected: readonly FinishedRollout[]): readonly string[] {
  if (!('policies' in config)) return [];
  const names = severalModelNames(config.policies, collected);
  const remedy =
    '; exclude others in the adapter (`shouldTrace`, `shouldRedirect`), or list those of the policy in `agents.modelNames`';
  return [
    ...config.policies.flatMap((policy) => unmatchedAgents(policy, collected)),
    ...(names === null ? [] : [names + remedy]),
  ];
}

async function tasksOf(
  settings: EvaluationSettings,
  given: DevOptions['tasks'] = defaultTasks,
): Promise<readonly JsonValue[]> {
  if (typeof given !== 'number') return await readConfiguredTasks(given, settings.shared);
  if (Number.isInteger(given) && given >= 1)
    return (await readConfiguredTasks(settings.tasks.train, settings.shared)).slice(0, given);
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `invalid number of tasks: ${given}`,
    remedy: 'Use a whole number of at least 1.',
  });
}
