import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '@agentlightning/core';
import type { JudgedPrompts } from '@agentlightning/core/algorithm';
import { promptVariables } from '@agentlightning/core/internal';
import type { SearchProgress } from '@agentlightning/core/protocol';
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
  const kinds = kindsOf(config);
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
    prompts: best === undefined ? {} : promptsRecord(best, kinds),
    versions: state.versions.map((each) => versionRecord(each, kinds)),
  };
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`);
  await rename(`${file}.new`, file);
}

/** The kinds of prompts, by name. */
export type PromptKinds = SearchProgress['kinds'];

/** The kinds of the prompts of a configuration. */
export function kindsOf({ prompts, searched }: Pick<ResolvedPromptSearch, 'prompts' | 'searched'>): PromptKinds {
  return Object.fromEntries(Object.keys(prompts).map((name) => [name, searched[name]?.kind ?? 'instruction']));
}

/** A version in the file's format. */
export function versionRecord(judged: JudgedPrompts, kinds: PromptKinds): Readonly<Record<string, unknown>> {
  const { version, parents, score, scoredTasks, taskScores } = judged;
  return {
    version,
    parents,
    score,
    scored_tasks: scoredTasks,
    task_scores: taskScores,
    prompts: promptsRecord(judged, kinds),
  };
}

function promptsRecord({ prompts, examples }: JudgedPrompts, kinds: PromptKinds): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(prompts).map(([name, prompt]) => {
      const { [name]: kind = 'instruction' } = kinds;
      const chosen = examples?.[name]?.map(({ task, reward, rolloutId }) => ({ task, reward, rollout: rolloutId }));
      const record = { template: prompt.template, variables: promptVariables(prompt) };
      // Absent for instructions: the digest of a deployed version is that of its record.
      return [
        name,
        {
          ...record,
          ...(kind === 'instruction' ? {} : { kind }),
          ...(chosen === undefined ? {} : { examples: chosen }),
        },
      ];
    }),
  );
}
