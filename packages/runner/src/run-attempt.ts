import { AgentLightningError, type RolloutContext, withRollout } from '@agentlightning/core';
import { withRetry } from '@agentlightning/core/internal';
import { type AttemptTokenRequest, failureOriginOf, isRewardedByEvaluator } from '@agentlightning/core/protocol';
import { AttemptSpans, spanNames } from '@agentlightning/core/spans';
import { type AttemptedRollout, newTraceId } from '@agentlightning/core/store';
import type { AgentContext } from './agent.ts';
import { AttemptLifetime } from './attempt-lifetime.ts';
import { AttemptAborted, type AttemptEnding, type AttemptOutcome, attemptError } from './attempt-outcome.ts';
import { type AttemptResources, loadResources, promptsOf } from './attempt-resources.ts';
import { RewardTracker } from './attempt-rewards.ts';
import { ModelCalls } from './model-calls.ts';
import { reportEnding } from './report-ending.ts';
import { type AgentRun, runAgent } from './run-agent.ts';
import type { AttemptInput } from './runner-services.ts';
import { storeRetryPolicy } from './store-retry-policy.ts';

/** Runs a claimed attempt until its end in the store. Never throws: an error is part of the outcome, or is reported. */
export async function runAttempt<TTask>(input: AttemptInput<TTask>): Promise<AttemptOutcome> {
  const { rollout, services } = input;
  const { rolloutId, attempt } = rollout;
  const startMs = services.clock.now();
  services.attemptStarted(rollout);
  const { error: agentError, reward } = await execute(input);
  // Lost spans are part of the outcome: an attempt without them fails.
  const error = agentError ?? services.takeLoss(attempt.attemptId);
  const ending: AttemptEnding =
    error === null ? 'succeeded' : error instanceof AttemptAborted ? error.ending : 'failed';
  await reportEnding(input, ending, error);
  const durationMs = services.clock.now() - startMs;
  const failureOrigin = error === null ? null : failureOriginOf(error);
  const { attemptId } = attempt;
  const outcome: AttemptOutcome = { rolloutId, attemptId, ending, reward, error, failureOrigin, durationMs };
  services.attemptEnded(outcome);
  return outcome;
}

/** Runs the agent. On return, all recorded spans are in the store or known to be lost. */
async function execute<TTask>(
  input: AttemptInput<TTask>,
): Promise<{ readonly error: AgentLightningError | null; readonly reward: number | null }> {
  const { services } = input;
  const spans = new AttemptSpans(services.sink, { onLateSpan: (span) => services.spanWasLate(span) });
  const rewards = new RewardTracker(spans);
  const modelCalls = new ModelCalls(services.clock);
  using lifetime = new AttemptLifetime({ ...input, modelCalls });
  let error: AgentLightningError | null;
  try {
    error = await withinContext(input, { lifetime, rewards, modelCalls });
  } catch (thrown) {
    error = attemptError(thrown);
  }
  spans.close();
  // Spans emitted later are dropped, and are not rewards.
  const reward = rewards.lastReward;
  await services.sink.flush();
  return { error, reward };
}

async function withinContext<TTask>(
  input: AttemptInput<TTask>,
  { lifetime, rewards, modelCalls }: Pick<AgentRun<TTask>, 'lifetime' | 'rewards' | 'modelCalls'>,
): Promise<AgentLightningError | null> {
  const { rollout, options, services } = input;
  const { rolloutId, mode, attempt } = rollout;
  const { attemptId } = attempt;
  const { resources, endpoint, attemptToken } = await begin(input);
  const ids = { rolloutId, attemptId, mode, endpoint, signal: lifetime.signal };
  const { metadata } = rollout;
  const context: AgentContext = { ...ids, attemptNumber: attempt.sequenceId, metadata, resources, attemptToken };
  const place = { traceId: newTraceId(), parentSpanId: null, agentName: null, sink: rewards };
  const traced: RolloutContext = {
    ...ids,
    ...place,
    prompts: promptsOf(resources),
    onModelCall: () => modelCalls.begin(),
  };
  const attributes = {
    'agentlightning.rollout_id': rolloutId,
    'agentlightning.attempt_id': attemptId,
    'agentlightning.attempt_number': attempt.sequenceId,
    ...(mode === null ? {} : { 'agentlightning.mode': mode }),
    ...(attempt.workerId === null ? {} : { 'agentlightning.worker_id': attempt.workerId }),
  };
  return withRollout(traced, () =>
    services.tracer.withSpan(
      spanNames.rollout,
      (rootSpan) => runAgent({ rollout, options, services, lifetime, rewards, context, modelCalls }, rootSpan),
      { attributes },
    ),
  );
}

/** The resources and token of an attempt. */
interface AttemptBeginning extends AttemptResources {
  /** The attempt's token; null if none is created. */
  readonly attemptToken: string | null;
}

/** Marks the attempt as running and loads its resources, with retries while the store cannot be reached. */
async function begin<TTask>({ rollout, options, services }: AttemptInput<TTask>): Promise<AttemptBeginning> {
  const { rolloutId, attempt } = rollout;
  const { store, endpointResource, createAttemptToken, gatewayUrl } = options;
  const retry = storeRetryPolicy(services, { doing: `Starting attempt ${attempt.attemptId}`, maxTries: 5 });
  const patch = { status: 'running' as const, lastHeartbeatTimeMs: services.clock.now() };
  try {
    await withRetry(() => store.updateAttempt(rolloutId, attempt.attemptId, patch), retry);
  } catch (error) {
    const isOver = AgentLightningError.isInstance(error) && error.code === 'ILLEGAL_TRANSITION';
    throw isOver ? AttemptAborted.endedInStore(rollout, 'ended before it began') : error;
  }
  const attemptToken =
    createAttemptToken === undefined ? null : await withRetry(() => createAttemptToken(tokenRequestOf(rollout)), retry);
  const choice = { endpointResource, attemptToken, gatewayUrl };
  return { ...(await withRetry(() => loadResources(store, rollout, choice), retry)), attemptToken };
}

/** Validity of a token after the end of its attempt, for late spans, in milliseconds. */
const tokenGraceMs = 3_600_000;

function tokenRequestOf(rollout: AttemptedRollout): AttemptTokenRequest {
  const { timeoutMs } = rollout.config;
  return {
    rolloutId: rollout.rolloutId,
    attemptId: rollout.attempt.attemptId,
    mayReward: !isRewardedByEvaluator(rollout),
    ...(timeoutMs === null ? {} : { lifetimeMs: timeoutMs + tokenGraceMs }),
  };
}
