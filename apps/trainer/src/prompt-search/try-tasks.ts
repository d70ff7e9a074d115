import { AgentLightningError } from '@agentlightning/core';
import type { PromptTrial, TriedTask } from '@agentlightning/core/algorithm';
import { warnOfLost } from '../evaluation/evaluate.ts';
import type { FinishedRollout } from '../evaluation/finished-rollout.ts';
import { rolloutReward } from '../evaluation/rollout-reward.ts';
import { collectRollouts } from '../rollouts/collect-rollouts.ts';
import { allFailed, failureText } from '../rollouts/rollout-failures.ts';
import { planTrial } from './plan-trial.ts';
import { promptsDigest } from './prompt-resources.ts';
import { rolloutAccount } from './rollout-account.ts';
import type { SearchSession } from './search-session.ts';
import { warnOfUnusedPrompts } from './unused-prompts.ts';

/**
 * Runs the agent on tasks with a set of prompts, through the store as every rollout, but for those that were run before.
 *
 * @throws AgentLightningError UPSTREAM_FAILED when the model answered none of them; AGENT_FAILED or INVALID_REWARD when
 *   already the prompts that the search begins with get nothing that could be compared
 */
export async function tryTasks(session: SearchSession, trial: PromptTrial): Promise<readonly TriedTask[]> {
  const { config, run, store, tasks, resources, progress, signal } = session;
  const { prompts, split, occasion } = trial;
  const requests = planTrial({
    runId: run.runId,
    occasion,
    promptsDigest: promptsDigest(prompts),
    split,
    tasks: trial.tasks.map((index) => ({ index, input: tasks[split][index] ?? null })),
    rolloutsPerTask: 1,
    resourcesId: await resources.forRollouts(prompts),
    settings: config.shared,
  });
  const onProgress = progress.trial(requests.length);
  const { assertHealthy } = session;
  const collected = await collectRollouts(requests, { store, signal, onProgress, assertHealthy });
  await assertModelAnswers(session, collected);
  const tried = await Promise.all(
    collected.map(async (one, place) => ({
      task: trial.tasks[place] ?? 0,
      reward: rolloutReward(one, config),
      account: rolloutAccount(one, { failure: await failureOf(session, one) }),
    })),
  );
  if (split === 'train') return tried;
  if (promptsDigest(prompts) === promptsDigest(config.prompts)) await assertComparable(session, collected, tried);
  warnOfUnusedPrompts(session, prompts, collected);
  return tried;
}

async function failureOf({ store }: SearchSession, collected: FinishedRollout): Promise<string | null> {
  if (collected.rollout.status === 'succeeded') return null;
  // What a command would show is nothing for a model.
  return (await failureText(store, collected)).replace(/ \(agl show [^)]*\)$/, '');
}

/** A model that is gone makes no prompt bad: the search stops, and can be gone on with. */
async function assertModelAnswers(session: SearchSession, collected: readonly FinishedRollout[]): Promise<void> {
  const unanswered = collected.filter(({ failure }) => failure === 'infrastructure');
  const [first] = unanswered;
  if (first === undefined) return;
  await session.assertHealthy();
  if (unanswered.length === collected.length) throw await allFailed(session.store, collected);
  await warnOfLost(session, collected);
}

/** A search that cannot tell better from worse would go on to the end of its budget for nothing. */
async function assertComparable(
  { store }: SearchSession,
  collected: readonly FinishedRollout[],
  tried: readonly TriedTask[],
): Promise<void> {
  if (collected.every(({ rollout }) => rollout.status !== 'succeeded')) throw await allFailed(store, collected);
  if (tried.some(({ reward }) => reward !== null)) return;
  throw new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `none of the ${collected.length} rollouts on the validation tasks gave a reward`,
    remedy: 'Return a number from the agent, or set `missingReward`.',
    details: { rollout: collected[0]?.rollout.rolloutId ?? null },
  });
}
