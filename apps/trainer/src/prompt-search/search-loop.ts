import { createHash } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import type {
  JudgedPrompts,
  OptimizerMessage,
  OptimizerRequest,
  PromptSearchResult,
  PromptSearchStanding,
} from '@agentlightning/core/algorithm';
import { systemClock } from '@agentlightning/core/internal';
import { runMetrics } from '@agentlightning/core/metrics';
import { addUsage, type TrainingSummary } from '@agentlightning/core/protocol';
import type { MetricPoint } from '@agentlightning/core/store';
import { assertWithinBudget } from '../run/budget.ts';
import { costMetrics } from '../run/cost-metrics.ts';
import { type MeasuredRewards, type StoredEvaluation, summariseRewards, summaryOf } from '../run/stored-evaluation.ts';
import { evaluationOnValidation, measureOnTest, pairedEvaluations } from './measure-prompts.ts';
import { promptsDigest } from './prompt-resources.ts';
import { promptsFileOf, writePromptsFile } from './prompts-file.ts';
import { limitsOf } from './search-run-state.ts';
import type { SearchSession } from './search-session.ts';
import { summariseSearch } from './summarise-search.ts';
import { tryTasks } from './try-tasks.ts';

/**
 * The loop of a prompt search: the algorithm selects trials and optimiser requests, and the loop runs them. After a crash,
 * the search resumes from its last saved state, with the rollouts and replies recorded since.
 */
export async function searchLoop(session: SearchSession): Promise<TrainingSummary> {
  const { config, record, run } = session;
  const startedMs = systemClock.now();
  const before = session.tasks.test.length === 0 ? null : await measureBefore(session);
  const { best, history } = await search(session);
  const first = history[0] ?? best;
  const { before: origin, after } = await outcome(session, { first, best, before });
  const file = promptsFileOf(config, run.runId);
  await writePromptsFile(file, { run, config, state: { ...record.state, before: origin, after } });
  await record.change({ before: origin, after }, { status: 'finished' });
  const seconds = (systemClock.now() - startedMs) / 1000;
  return summariseSearch({ run, config, state: record.state, seconds });
}

async function measureBefore(session: SearchSession): Promise<MeasuredRewards> {
  const { config, record } = session;
  const open = await measureOnTest(session, { phase: 'before', judged: { prompts: config.prompts } });
  const before = summariseRewards(open, config.reward.range);
  tell(session, 'before', before);
  await record.change({ before });
  return open;
}

async function search(session: SearchSession): Promise<Pick<PromptSearchResult, 'best' | 'history'>> {
  const { config, record, resources, progress, signal } = session;
  const { versions, best } = record.state;
  const known = versions.find(({ version }) => version === best);
  progress.startAt(known?.score ?? null);
  if (record.state.ended !== null && known !== undefined) return { best: known, history: versions };
  const result = await config.search.run({
    initial: config.prompts,
    searched: config.searched,
    trainTasks: session.tasks.train.length,
    validationTasks: session.tasks.validation.length,
    tryTasks: async (trial) => {
      await assertWithinBudget({ ...session, budget: config.shared.limits.budget, effort: record.effort });
      return await tryTasks(session, trial);
    },
    complete: (messages, request) => requestCompletion(session, messages, request),
    seed: record.state.seed,
    saved: record.state.search,
    save: async (state, standing) => {
      const { rollouts, optimizerCalls, unusableReplies = 0, history } = standing;
      const spent = { rollouts, optimizerCalls, unusableReplies };
      await resources.publish(history, standing.best);
      const found = { versions: history, best: standing.best.version };
      const metrics = versionMetrics(session, standing, await costMetrics({ ...session, effort: record.effort }));
      await record.change({ ...found, search: state, replies: {}, spent }, { metrics });
    },
    onCandidate: (candidate) => progress.judged(candidate),
    signal,
  });
  signal.throwIfAborted();
  const ended = result.ended === 'stopped' ? null : result.ended;
  if (ended === null) throw new AgentLightningError({ code: 'CANCELLED', message: 'the search was stopped' });
  const isBaseline = result.rollouts <= session.tasks.validation.length;
  if (ended === 'budget' && isBaseline) warnOfBudget(session, result);
  if (!isBaseline) warnOfLackingExamples(session, result);
  await record.change({ ended, limits: limitsOf(config), best: result.best.version, versions: result.history });
  return result;
}

/** Distinguishes an exhausted budget from a search without improvement. */
function warnOfBudget({ config, warnOnce }: SearchSession, { rollouts }: Pick<PromptSearchResult, 'rollouts'>): void {
  const { maxRollouts, maxOptimizerCalls } = config.search.budget;
  warnOnce(
    `no new version was tried: after ${rollouts} rollouts that measured the initial prompts, a new version would exceed ` +
      `maxRollouts (${maxRollouts ?? 'no limit'}) or maxOptimizerCalls (${maxOptimizerCalls ?? 'no limit'}); ` +
      'increase them to continue this run',
  );
}

/** Distinguishes examples that were not found from examples that were not better. */
function warnOfLackingExamples({ warnOnce }: SearchSession, { exampleTasks = {} }: PromptSearchResult): void {
  for (const [name, tasks] of Object.entries(exampleTasks)) {
    if (tasks > 0) continue;
    warnOnce(
      `no examples were found for the prompt "${name}": no training rollout had both a reward above the lowest one and ` +
        'a text of its function `example`; where all rewards are low, search the instructions together with it',
    );
  }
}

/** A metric point for each new version, at its number. */
function versionMetrics(
  { run, record }: SearchSession,
  { history, best, rollouts, optimizerCalls }: PromptSearchStanding,
  cost: Readonly<Record<string, number>>,
): readonly MetricPoint[] {
  const known = record.state.versions.length;
  return history.slice(known).map(({ score, scoredTasks }, index) => ({
    runId: run.runId,
    step: known + index,
    timeMs: systemClock.now(),
    values: {
      ...(score === null ? {} : { [runMetrics.validationScore.name]: score }),
      ...(best.score === null ? {} : { [runMetrics.validationBestScore.name]: best.score }),
      [runMetrics.validationTasks.name]: scoredTasks,
      [runMetrics.searchRollouts.name]: rollouts,
      [runMetrics.optimizerCalls.name]: optimizerCalls,
      ...cost,
    },
  }));
}

/** Before and after on the same tasks; equal when the search found no better version. */
async function outcome(
  session: SearchSession,
  versions: { readonly first: JudgedPrompts; readonly best: JudgedPrompts; readonly before: MeasuredRewards | null },
): Promise<{ readonly before: StoredEvaluation; readonly after: StoredEvaluation }> {
  const { first, best, before } = versions;
  const range = session.config.reward.range;
  const isUnchanged = promptsDigest(first.prompts) === promptsDigest(best.prompts);
  const origin = before ?? (await evaluationOnValidation(session, first));
  if (isUnchanged) return pairedEvaluations(origin, origin, range);
  const after =
    before === null
      ? await evaluationOnValidation(session, best)
      : await measureOnTest(session, { phase: 'after', judged: best });
  const paired = pairedEvaluations(origin, after, range);
  if (before !== null) tell(session, 'after', paired.after);
  return paired;
}

function tell({ emit }: SearchSession, phase: 'before' | 'after', evaluation: StoredEvaluation): void {
  emit({ type: 'evaluated', phase, step: 0, tasks: 'test', summary: summaryOf(evaluation) });
}

/**
 * Requests a completion of the optimiser model, and stores the reply until the search has saved its next state: a search
 * that is killed and resumed gets the same reply to the same request, finds the rollouts that followed from it, and does
 * not pay for it twice.
 */
async function requestCompletion(
  session: SearchSession,
  messages: readonly OptimizerMessage[],
  request: OptimizerRequest,
): Promise<string> {
  const { record, optimizer, progress } = session;
  if (optimizer === null) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'the algorithm needs an optimiser model, which is not configured',
      remedy: 'Set `optimizer: { baseUrl, model }`.',
    });
  }
  const question = questionKey(messages, request);
  const known = record.state.replies[question];
  const reply = known ?? (await progress.waitForOptimizer(() => optimizer.complete(messages, request.temperature)));
  if (known === undefined) {
    const { replies, optimizerUsage: spent } = record.state;
    const used = optimizer.takeUsage();
    const optimizerUsage = spent === null || used === null ? (used ?? spent) : addUsage(spent, used);
    await record.change({ replies: { ...replies, [question]: reply }, optimizerUsage });
  }
  progress.optimizerResponded();
  return reply;
}

function questionKey(messages: readonly OptimizerMessage[], { occasion, temperature }: OptimizerRequest): string {
  const text = JSON.stringify([occasion, temperature, messages]);
  return `${occasion} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}
