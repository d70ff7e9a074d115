import { AgentLightningError } from '@agentlightning/core';
import type { PromptTrial, TriedTask } from '@agentlightning/core/algorithm';
import { warnOfLost } from '../evaluation/collect-evaluation.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { rolloutReward } from '../results/rollout-reward.ts';
import { collectRollouts } from '../rollouts/collect-rollouts.ts';
import { allFailed, failureText } from '../rollouts/rollout-failures.ts';
import { planTrial } from './plan-trial.ts';
import { promptsDigest } from './prompt-resources.ts';
import { exampleTexts } from './rollout-example.ts';
import { rolloutTranscript } from './rollout-transcript.ts';
import type { SearchSession } from './search-session.ts';

/**
 * Runs the agent on tasks with a set of prompts, as rollouts in the store. Completed rollouts are not repeated.
 *
 * @throws AgentLightningError UPSTREAM_FAILED when the model responded to none of them; AGENT_FAILED or INVALID_REWARD when
 *   the initial prompts get no reward
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
    limits: config.shared.limits,
  });
  const onProgress = progress.trial(requests.length);
  const { assertHealthy, emit } = session;
  const collected = await collectRollouts(requests, {
    store,
    signal,
    onProgress,
    assertHealthy,
    scoring: config.shared.rewards.scoring,
    warn: (message) => emit({ type: 'warning', message }),
  });
  await assertModelResponds(session, collected);
  const tried = await Promise.all(
    collected.map(async (one, place) => {
      const reward = rolloutReward(one, config.reward);
      return {
        task: trial.tasks[place] ?? 0,
        reward,
        transcript: rolloutTranscript(one, { failure: await failureOf(session, one) }),
        rolloutId: one.rollout.rolloutId,
        ...(split === 'train' && one.rollout.status === 'succeeded' && reward !== null
          ? { examples: exampleTexts(one, reward, { exampleOf: config.exampleOf, warn: session.warnOnce }) }
          : {}),
      };
    }),
  );
  const isInitial = promptsDigest(prompts) === promptsDigest(config.prompts);
  if (split === 'validation' && isInitial) await assertComparable(session, collected, tried);
  for (const name of session.promptUse.unused(trial, collected)) session.warnOnce(unusedText(name, config));
  return tried;
}

function unusedText(name: string, { searched }: SearchSession['config']): string {
  const define = searched[name]?.kind === 'examples' ? 'defineExamples' : 'definePrompt';
  return `no model call has the text of the prompt "${name}": check that the agent formats it in each rollout, with \`${define}('${name}', …).format(…)\``;
}

async function failureOf({ store }: SearchSession, collected: FinishedRollout): Promise<string | null> {
  if (collected.rollout.status === 'succeeded') return null;
  // The remedies of a command are not meant for the optimiser model.
  return (await failureText(store, collected)).replace(/ \(agl show [^)]*\)$/, '');
}

/** An unreachable model does not lower the score of a prompt: the search stops, and can be resumed. */
async function assertModelResponds(session: SearchSession, collected: readonly FinishedRollout[]): Promise<void> {
  const failed = collected.filter(({ failure }) => failure === 'infrastructure');
  const [first] = failed;
  if (first === undefined) return;
  await session.assertHealthy();
  if (failed.length === collected.length) throw await allFailed(session.store, collected);
  await warnOfLost(session, collected);
}

/** Without rewards, a search cannot compare prompts and would waste its budget. */
async function assertComparable(
  { store }: SearchSession,
  collected: readonly FinishedRollout[],
  tried: readonly TriedTask[],
): Promise<void> {
  if (collected.every(({ rollout }) => rollout.status !== 'succeeded')) throw await allFailed(store, collected);
  if (tried.some(({ reward }) => reward !== null)) return;
  throw new AgentLightningError({
    code: 'INVALID_REWARD',
    message: `none of the ${collected.length} rollouts on the validation tasks returned a reward`,
    remedy: 'Return a number from the agent, or set `reward.missing`.',
    details: { rollout: collected[0]?.rollout.rolloutId ?? null },
  });
}
