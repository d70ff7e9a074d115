import type { Run } from '@agentlightning/core';
import { judgedPromptsSchema, readRunProgress, type SearchProgress } from '@agentlightning/core/protocol';
import { z } from 'zod';
import type { PromptVersions } from '../api/prompt-views.ts';
import type { SearchView } from '../api/run-views.ts';

/** A part of the state that cannot be read becomes absent: other programs may have written the run. */
const searchState = z.object({
  versions: z.array(judgedPromptsSchema).catch([]),
  best: z.string().nullable().catch(null),
});

/** The versions of a prompt search; none for a training run. */
export function readPromptVersions(run: Run): PromptVersions {
  const { versions, best } = searchState.parse(run.state);
  const highest: number[] = [];
  for (const { taskScores } of versions) {
    for (const [task, score] of taskScores.entries()) {
      if (score !== null) highest[task] = Math.max(highest[task] ?? score, score);
    }
  }
  return {
    kinds: readRunProgress(run).search?.kinds ?? {},
    best,
    versions: versions.map(({ prompts, ...rest }) => ({
      ...rest,
      templates: Object.fromEntries(Object.entries(prompts).map(([name, { template }]) => [name, template])),
      bestTasks: rest.taskScores.filter((score, task) => score !== null && score === highest[task]).length,
    })),
  };
}

/** The progress of a prompt search, with the scores of its first and its best version. */
export function readSearch(run: Run, progress: SearchProgress): SearchView {
  const { versions, best } = readPromptVersions(run);
  const scoreOf = (name: string | null): number | null =>
    versions.find(({ version }) => version === name)?.score ?? null;
  return { ...progress, best, firstScore: scoreOf(versions[0]?.version ?? null), bestScore: scoreOf(best) };
}
