import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import type { JudgedPrompts } from '@agentlightning/core/algorithm';
import { promptVariables } from '@agentlightning/core/internal';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import type { SearchRunState } from './search-run-state.ts';

/** Path of the result file of a search. */
export function promptsFileOf(config: ResolvedPromptSearch, runId: string): string {
  return config.promptsFile ?? path.join(config.shared.dataDir, 'prompts', `${runId}.json`);
}

/** Writes the best prompts, all other versions and their scores, atomically. */
export async function writePromptsFile(
  file: string,
  outcome: { readonly run: Run; readonly config: ResolvedPromptSearch; readonly state: SearchRunState },
): Promise<void> {
  const { run, config, state } = outcome;
  const { measuredOn, before, after, spent, ended } = state;
  const best = state.versions.find(({ version }) => version === state.best);
  const record = {
    run: run.runId,
    name: run.name,
    algorithm: config.search.name,
    seed: state.seed,
    ended,
    rollouts: spent.rollouts,
    optimizer_calls: spent.optimizerCalls,
    measured_on: measuredOn,
    reward_before: before?.reward ?? null,
    ci95_before: before?.ci95 ?? null,
    reward_after: after?.reward ?? null,
    ci95_after: after?.ci95 ?? null,
    best: best?.version ?? null,
    prompts: best === undefined ? {} : promptsRecord(best),
    versions: state.versions.map(versionRecord),
  };
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`);
  await rename(`${file}.new`, file);
}

/** A version in the file's format. */
export function versionRecord(judged: JudgedPrompts): Readonly<Record<string, unknown>> {
  const { version, parents, score, scoredTasks, taskScores } = judged;
  return {
    version,
    parents,
    score,
    scored_tasks: scoredTasks,
    task_scores: taskScores,
    prompts: promptsRecord(judged),
  };
}

function promptsRecord({ prompts }: JudgedPrompts): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(prompts).map(([name, prompt]) => [
      name,
      { template: prompt.template, variables: promptVariables(prompt) },
    ]),
  );
}
