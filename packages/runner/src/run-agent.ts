import {
  type ActiveSpan,
  AgentLightningError,
  currentRollout,
  emitAnnotation,
  emitException,
  emitReward,
  type JsonValue,
  type RewardValue,
  type Span,
  type SpanInput,
  type SpanSink,
  withRollout,
} from '@agentlightning/core';
import { rewardsOfScores, rolloutStorage, scoredOutputAttributes } from '@agentlightning/core/internal';
import { failureOriginOf, isRewardedByEvaluator, rewardSourceKey } from '@agentlightning/core/protocol';
import { rewardAttributes, rewardFromSpan } from '@agentlightning/core/spans';
import { type AttemptedRollout, isTerminalAttemptStatus } from '@agentlightning/core/store';
import type { AgentContext } from './agent.ts';
import type { AttemptLifetime } from './attempt-lifetime.ts';
import { AttemptAborted, attemptError } from './attempt-outcome.ts';
import { type RewardTracker, rewardInStore } from './attempt-rewards.ts';
import type { ModelCalls } from './model-calls.ts';
import type { AttemptOptions } from './runner-options.ts';
import type { RunnerServices } from './runner-services.ts';
import { type OutputScoring, primaryPart, scoreOutput, takeJudgeUses } from './score-output.ts';
import { settlesWithin } from './time-limit.ts';

/** A sink that forwards all spans except rewards, for agents whose rewards come from an evaluator. */
class RewardlessSink implements SpanSink {
  readonly #sink: SpanSink;
  readonly #onReward: (span: SpanInput) => void;

  constructor(sink: SpanSink, onReward: (span: SpanInput) => void) {
    this.#sink = sink;
    this.#onReward = onReward;
  }

  spanStarted(span: ActiveSpan): void {
    this.#sink.spanStarted?.(span);
  }

  spanDiscarded(spanId: string): void {
    this.#sink.spanDiscarded?.(spanId);
  }

  append(span: SpanInput): void {
    if (rewardFromSpan({ ...span, sequenceId: span.sequenceId ?? 0 }) === null) {
      this.#sink.append(span);
      return;
    }
    // The reward's span has started: it must not be ended as abandoned.
    this.#sink.spanDiscarded?.(span.spanId);
    this.#onReward(span);
  }

  flush(): Promise<void> {
    return this.#sink.flush();
  }
}

/** Grace period for an aborted agent before its rollout is returned to the queue, in milliseconds. */
const settleMs = 1000;

const rewardRemedy = `Emit it from a hook or an evaluator, or remove ${rewardSourceKey} from the rollout's metadata.`;

/** The input of {@link runAgent}. */
export interface AgentRun<TTask> {
  readonly rollout: AttemptedRollout;
  readonly options: AttemptOptions<TTask>;
  readonly services: RunnerServices;
  readonly lifetime: AttemptLifetime;
  readonly rewards: RewardTracker;
  readonly context: AgentContext;
  readonly modelCalls: ModelCalls;
}

/**
 * Runs the agent and its hooks within the rollout's context, and records the outcome.
 *
 * @returns the error; null when the agent succeeded
 */
export async function runAgent<TTask>(run: AgentRun<TTask>, rootSpan: ActiveSpan): Promise<AgentLightningError | null> {
  const { rollout, options, context } = run;
  await runHook(run, 'onRolloutStart', async () => options.hooks?.onRolloutStart?.({ rollout, context }));
  const error = await executeAgent(run);
  if (error !== null) {
    rootSpan.recordException(error);
    emitException(error.code === 'AGENT_FAILED' ? error.cause : error);
  }
  await runHook(run, 'onRolloutEnd', async () => options.hooks?.onRolloutEnd?.({ rollout, context, error }));
  if (error === null) await reportMissingReward(run);
  return error;
}

async function executeAgent<TTask>(run: AgentRun<TTask>): Promise<AgentLightningError | null> {
  const { rollout, options, context, lifetime, services, modelCalls } = run;
  // Already ended: the agent must not call models.
  if (lifetime.signal.aborted) return attemptError(lifetime.signal.reason);
  const parseTask = options.parseTask ?? unchangedTask<TTask>;
  const isEvaluated = isRewardedByEvaluator(rollout);
  const act = async (): Promise<unknown> => options.agent(parseTask(rollout.input), context);
  const work = isEvaluated ? withoutRewards({ rollout, services }, act) : act();
  try {
    const result = await lifetime.orEnd(work);
    if (modelCalls.isUnavailable) return modelUnavailable(rollout);
    if (isEvaluated) return null;
    if (options.reward !== undefined) await lifetime.orEnd(recordScores({ ...run, scoring: options.reward }, result));
    else if (result !== undefined && result !== null) {
      // It is validated at runtime.
      emitReward(
        result as RewardValue,
        options.primaryReward === undefined ? {} : { primaryKey: options.primaryReward },
      );
    }
    return null;
  } catch (thrown) {
    const error = (await endedInStore(rollout, options, thrown)) ?? attemptError(thrown);
    // The agent's own error may follow from the failed call.
    const isOfCall = modelCalls.isUnavailable && !(error instanceof AttemptAborted);
    if (isOfCall && failureOriginOf(error) === 'agent') return modelUnavailable(rollout, error);
    if (error instanceof AttemptAborted && error.ending === 'returned') {
      // Spans of the agent must not arrive after its rollout has returned to the queue.
      await settlesWithin(work.then(nothing, nothing), settleMs, services.clock);
    }
    return error;
  }
}

/**
 * Scores what the agent returned, and records output, scores and reward. Scorers run outside of the rollout: their model
 * calls are neither redirected nor recorded.
 */
async function recordScores<TTask>(
  { scoring, rollout, options, services, lifetime, rewards }: AgentRun<TTask> & { readonly scoring: OutputScoring },
  result: unknown,
): Promise<void> {
  const { rolloutId, attempt, mode } = rollout;
  const output = result ?? null;
  const parseTask = options.parseTask ?? unchangedTask<TTask>;
  let spans: Promise<readonly Span[]> | null = null;
  const readSpans = async (): Promise<readonly Span[]> => {
    await rewards.flush();
    return (await options.store.querySpans({ rolloutId, attemptId: attempt.attemptId })).items;
  };
  const input = {
    task: parseTask(rollout.input),
    output,
    rolloutId,
    mode,
    spans: () => {
      spans ??= readSpans();
      return spans;
    },
  };
  const { remainingMs, signal } = lifetime;
  const scores = await rolloutStorage().exit(() =>
    scoreOutput(scoring, input, {
      clock: services.clock,
      signal,
      // Time to record the scores: a late reward must not end the attempt as a failure of the agent.
      timeoutMs: Math.max(remainingMs - endingMs, remainingMs / 2),
      onError: (part, error) => services.partFailed(rolloutId, part, error),
    }),
  );
  const judges = takeJudgeUses(scoring);
  const dimensions = rewardsOfScores(scores, primaryPart(scoring));
  emitAnnotation({ ...rewardAttributes(dimensions), ...scoredOutputAttributes({ output, scores, judges }) });
}

/** Time from the end of a reward to the end of its attempt, in milliseconds. */
const endingMs = 2000;

/** An agent that handles the failure of its last model call returns an invalid reward, or throws an error that follows from it. */
function modelUnavailable({ rolloutId }: AttemptedRollout, cause?: AgentLightningError): AgentLightningError {
  return new AgentLightningError({
    code: 'UPSTREAM_FAILED',
    message: `Last model call of rollout ${rolloutId} failed: the gateway or its upstream was unavailable. The reward is not used.`,
    cause,
  });
}

/** The gateway rejects calls of an attempt that the store has ended or replaced by another one: the agent has not failed. */
async function endedInStore<TTask>(
  rollout: AttemptedRollout,
  { store }: Pick<AttemptOptions<TTask>, 'store'>,
  thrown: unknown,
): Promise<AttemptAborted | null> {
  const isRejected = typeof thrown === 'object' && thrown !== null && 'status' in thrown && thrown.status === 409;
  if (!isRejected) return null;
  const latest = await store.getLatestAttempt(rollout.rolloutId).catch(() => null);
  if (latest === null) return null;
  if (latest.attemptId !== rollout.attempt.attemptId) return AttemptAborted.endedInStore(rollout, 'unresponsive');
  return isTerminalAttemptStatus(latest.status) ? AttemptAborted.endedInStore(rollout, latest.status) : null;
}

/** Runs an agent whose rewards come from an evaluator: rewards that it emits are reported but not recorded. */
function withoutRewards<TResult>(
  { rollout, services }: Pick<AgentRun<never>, 'rollout' | 'services'>,
  act: () => Promise<TResult>,
): Promise<TResult> {
  const current = currentRollout();
  if (current === null) return act();
  const sink = new RewardlessSink(current.sink, ({ name }) => {
    const message = `rewards come from an evaluator; ${name} was not recorded`;
    const refusal = new AgentLightningError({ code: 'PERMISSION_DENIED', message, remedy: rewardRemedy });
    services.failed(`Recording a reward of the agent of rollout ${rollout.rolloutId}`, refusal);
  });
  return withRollout({ ...current, sink }, act);
}

/** The default for `parseTask`: without it, tasks must have the agent's input type. */
function unchangedTask<TTask>(input: JsonValue): TTask {
  return input as TTask;
}

function nothing(): void {}

async function runHook<TTask>(run: AgentRun<TTask>, name: string, hook: () => Promise<void>): Promise<void> {
  const { options, services, rollout } = run;
  const doing = `Hook ${name} of rollout ${rollout.rolloutId}`;
  const hookTimeoutMs = options.hookTimeoutMs ?? 30_000;
  try {
    if (await settlesWithin(hook(), hookTimeoutMs, services.clock)) return;
    const message = `it did not finish within ${hookTimeoutMs} ms`;
    services.failed(doing, new AgentLightningError({ code: 'TIMEOUT', message }));
  } catch (error) {
    services.failed(doing, error);
  }
}

/** A missing reward differs from the reward 0: the rollout is marked and excluded from training. */
async function reportMissingReward<TTask>({ rollout, options, services, rewards }: AgentRun<TTask>): Promise<void> {
  // An evaluator may record one later.
  if (rewards.lastReward !== null || isRewardedByEvaluator(rollout)) return;
  try {
    const recorded = await rewardInStore(options.store, rollout);
    if (recorded !== null) return rewards.setRecordedReward(recorded);
  } catch (error) {
    services.failed(`Querying the reward of rollout ${rollout.rolloutId}`, error);
    return;
  }
  const cause =
    options.reward === undefined ? 'The agent neither returned nor emitted a reward' : 'No reward was computed';
  emitAnnotation({ 'agentlightning.warning': `${cause}: the rollout is excluded from training.` });
  services.rewardMissing(rollout);
}
