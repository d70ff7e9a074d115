import { AgentLightningError, type Run } from '@agentlightning/core';
import { costOfCalls, type PromptsOutcome, pricesOf, type TrainingSummary } from '@agentlightning/core/protocol';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import { judgeBySettings, relativePartsOf, relativeText } from '../diagnosis/verdict.ts';
import { pickExamples } from '../loop/summarise-run.ts';
import { summaryOf } from '../run/stored-evaluation.ts';
import { kindsOf, promptsFileOf } from './prompts-file.ts';
import type { SearchRunState } from './search-run-state.ts';

/** The outcome of a finished search, compared by task. */
export function summariseSearch(options: {
  readonly run: Run;
  readonly config: ResolvedPromptSearch;
  readonly state: SearchRunState;
  /** Wall time of this process, in seconds. */
  readonly seconds: number;
}): TrainingSummary {
  const { run, config, state, seconds } = options;
  const { before, after, best, ended, versions } = state;
  if (before === null || after === null || best === null || ended === null) {
    throw new AgentLightningError({ code: 'INTERNAL', message: `run ${run.runId} ended without an outcome` });
  }
  const examples = pickExamples(before, after);
  const { verdict, isImproved, pValue, missingShare } = judgeBySettings(before, after, config);
  const relative = relativeText(config.reward);
  return {
    runId: run.runId,
    before: summaryOf(before),
    after: summaryOf(after),
    verdict,
    caveats: relative === null ? [] : [relative],
    isImproved,
    pValue,
    missingShare,
    ...relativePartsOf(config.reward),
    rewardCurve: bestSoFar(versions.map(({ score }) => score)),
    seconds,
    exampleBefore: examples.before,
    exampleAfter: examples.after,
    dataDir: config.shared.dataDir,
    storeUrl: config.shared.storeUrl,
    prompts: {
      versions,
      kinds: kindsOf(config),
      best,
      ended,
      measuredOn: state.measuredOn,
      ...state.spent,
      optimizerUse: optimizerUse(run, state),
      file: promptsFileOf(config, run.runId),
    },
  };
}

function optimizerUse(run: Run, { optimizerUsage: usage }: SearchRunState): PromptsOutcome['optimizerUse'] {
  if (usage === null) return null;
  const { inputTokens, outputTokens } = usage;
  return { inputTokens, outputTokens, cost: costOfCalls([usage], pricesOf(run)) };
}

function bestSoFar(scores: readonly (number | null)[]): readonly number[] {
  let best = Number.NEGATIVE_INFINITY;
  return scores.flatMap((score) => {
    best = Math.max(best, score ?? best);
    return Number.isFinite(best) ? [best] : [];
  });
}
