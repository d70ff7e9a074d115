import {
  type ActiveSpan,
  AgentLightningError,
  type AttemptedRollout,
  currentRollout,
  emitAnnotation,
  emitException,
  emitReward,
  type JsonValue,
  withRollout,
} from '@agentlightning/core';
import { isRewardedByEvaluator, rewardSourceKey } from '@agentlightning/core/protocol';
import type { AgentContext, AgentResult } from './agent.ts';
import type { AttemptLife } from './attempt-life.ts';
import { AttemptAborted, attemptError } from './attempt-outcome.ts';
import { type RewardWatch, rewardInStore } from './attempt-rewards.ts';
import { RewardlessSink } from './rewardless-sink.ts';
import type { AttemptOptions } from './runner-options.ts';
import type { RunnerServices } from './runner-services.ts';
import { settlesWithin } from './time-limit.ts';

/** How long an agent whose rollout is given back may take to notice that it should stop. */
const settleMs = 1000;

const rewardRemedy = `Emit it from a hook or an evaluator, or take ${rewardSourceKey} out of the rollout's metadata.`;

/** An agent about to run. */
export interface AgentRun<TTask> {
  readonly rollout: AttemptedRollout;
  readonly options: AttemptOptions<TTask>;
  readonly services: RunnerServices;
  readonly life: AttemptLife;
  readonly rewards: RewardWatch;
  readonly context: AgentContext;
  /** Whether the infrastructure failed the last model call that went through the gateway. */
  readonly modelCalls: { readonly isUnavailable: boolean };
}

/**
 * Runs the agent and its hooks within the rollout's context, and records how it went.
 *
 * @returns what went wrong; null when the agent succeeded
 */
export async function runAgent<TTask>(run: AgentRun<TTask>, rootSpan: ActiveSpan): Promise<AgentLightningError | null> {
  const { rollout, options, context } = run;
  await runHook(run, 'onRolloutStart', async () => options.hooks?.onRolloutStart?.({ rollout, context }));
  const error = await judgeAgent(run);
  if (error !== null) {
    rootSpan.recordException(error);
    emitException(error.code === 'AGENT_FAILED' ? error.cause : error);
  }
  await runHook(run, 'onRolloutEnd', async () => options.hooks?.onRolloutEnd?.({ rollout, context, error }));
  if (error === null) await noteMissingReward(run);
  return error;
}

async function judgeAgent<TTask>({
  rollout,
  options,
  context,
  life,
  services,
  modelCalls,
}: AgentRun<TTask>): Promise<AgentLightningError | null> {
  // Ended before it began: an agent that nobody waits for must not call models.
  if (life.signal.aborted) return attemptError(life.signal.reason);
  const parseTask = options.parseTask ?? asItIs<TTask>;
  const isJudged = isRewardedByEvaluator(rollout);
  const act = async (): Promise<AgentResult> => options.agent(parseTask(rollout.input), context);
  const work = isJudged ? withoutRewards({ rollout, services }, act) : act();
  try {
    const result = await life.orEnd(work);
    if (modelCalls.isUnavailable) return modelUnavailable(rollout);
    if (result !== undefined && result !== null && !isJudged) {
      emitReward(result, options.primaryReward === undefined ? {} : { primaryKey: options.primaryReward });
    }
    return null;
  } catch (thrown) {
    const error = attemptError(thrown);
    if (error instanceof AttemptAborted && error.ending === 'returned') {
      // What the agent still records must not come after its rollout is back in the queue.
      await settlesWithin(work.then(nothing, nothing), settleMs, services.clock);
    }
    return error;
  }
}

/** An agent that catches the failure of its last model call judges an outcome without it. */
function modelUnavailable({ rolloutId }: AttemptedRollout): AgentLightningError {
  return new AgentLightningError({
    code: 'UPSTREAM_FAILED',
    message: `Last model call of rollout ${rolloutId} failed: the gateway or its upstream was unavailable. The reward is not used.`,
  });
}

/** Runs an agent whose rewards come from an evaluator: those that it emits itself are reported, and not recorded. */
function withoutRewards<TResult>(
  { rollout, services }: Pick<AgentRun<never>, 'rollout' | 'services'>,
  act: () => Promise<TResult>,
): Promise<TResult> {
  const current = currentRollout();
  if (current === null) return act();
  const sink = new RewardlessSink(current.sink, ({ name }) => {
    const message = `its rewards come from an evaluator, and ${name} was not recorded`;
    const refusal = new AgentLightningError({ code: 'PERMISSION_DENIED', message, remedy: rewardRemedy });
    services.failed(`A reward of the agent of rollout ${rollout.rolloutId}`, refusal);
  });
  return withRollout({ ...current, sink }, act);
}

/** A task as it is: whoever gives no `parseTask` says that the tasks are what the agent takes. */
function asItIs<TTask>(input: JsonValue): TTask {
  return input as TTask;
}

function nothing(): void {}

async function runHook<TTask>(run: AgentRun<TTask>, name: string, hook: () => Promise<void>): Promise<void> {
  const { options, services, rollout } = run;
  const doing = `The hook ${name} of rollout ${rollout.rolloutId}`;
  const hookTimeoutMs = options.hookTimeoutMs ?? 30_000;
  try {
    if (await settlesWithin(hook(), hookTimeoutMs, services.clock)) return;
    const message = `it did not finish within ${hookTimeoutMs} ms`;
    services.failed(doing, new AgentLightningError({ code: 'TIMEOUT', message }));
  } catch (error) {
    services.failed(doing, error);
  }
}

/** A rollout without a reward is not one with the reward 0: it is marked, and training leaves it out. */
async function noteMissingReward<TTask>({ rollout, options, services, rewards }: AgentRun<TTask>): Promise<void> {
  // An evaluator may come later.
  if (rewards.lastReward !== null || isRewardedByEvaluator(rollout)) return;
  try {
    const recorded = await rewardInStore(options.store, rollout);
    if (recorded !== null) return rewards.wasRecordedElsewhere(recorded);
  } catch (error) {
    services.failed(`Looking for the reward of rollout ${rollout.rolloutId}`, error);
    return;
  }
  emitAnnotation({
    'agentlightning.warning': 'The agent returned no reward and emitted none: the rollout cannot be learned from.',
  });
  services.rewardMissing(rollout);
}
