import type { PromptTemplateResource } from '@agentlightning/core';
import { AgentLightningError } from '@agentlightning/core';
import type { CollectedRollout, PromptTrial, TriedTask } from '@agentlightning/core/algorithm';
import { modelCallFromSpan } from '@agentlightning/core/spans';
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
 * Warns of prompts whose text is in no model call: changing them would have no effect. For a version, the changed text is
 * searched: an agent that formats its prompt only once continues to use the first version. Training tasks may be few, and an
 * agent may use a prompt for some of them only: for them, only examples are checked. They are empty at first, and examples that
 * have no effect do not reach the validation tasks.
 */
function warnOfUnusedPrompts(
  session: SearchSession,
  { prompts, split }: PromptTrial,
  collected: readonly CollectedRollout[],
): void {
  const isChecked = (name: string): boolean =>
    split === 'validation' || session.config.searched[name]?.kind === 'examples';
  const names = Object.keys(prompts).filter(isChecked);
  if (names.length === 0) return;
  const asked = collected.flatMap(({ spans }) =>
    spans.flatMap((span) => JSON.stringify(modelCallFromSpan(span)?.request ?? '')),
  );
  if (split === 'train' && asked.every((request) => request === '""')) return;
  for (const [name, prompt] of Object.entries(prompts)) {
    if (!isChecked(name)) continue;
    const text = longestText(prompt, session.config.prompts[name]);
    if (text.length < minCharacters || asked.some((request) => request.includes(text))) continue;
    session.warnOnce(
      `no model call has the text of the prompt "${name}": check that the agent formats it in each rollout, with \`${
        session.config.searched[name]?.kind === 'examples' ? 'defineExamples' : 'definePrompt'
      }('${name}', …).format(…)\``,
    );
  }
}

/** Minimum length of the searched text: shorter texts may occur by chance or be changed by the agent. */
const minCharacters = 6;

/** The longest part of a template without placeholders, JSON-escaped. */
function longestText(prompt: PromptTemplateResource, original: PromptTemplateResource | undefined): string {
  const known = prompt.template === original?.template ? [] : partsOf(original?.template ?? '');
  const parts = partsOf(prompt.template).filter((part) => !known.includes(part));
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), '');
  return JSON.stringify(longest).slice(1, -1);
}

function partsOf(template: string): readonly string[] {
  return template.split(/\{\w+\}|[{}\n]/).map((part) => part.trim());
}

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
  warnOfUnusedPrompts(session, trial, collected);
  return tried;
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
