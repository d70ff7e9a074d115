import { fineTuneExamples, preferenceExamples } from '@agentlightning/algorithms/internal';
import type { Rollout, RolloutMode, Store } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { readFinishedRollouts } from '../results/finished-rollout.ts';
import { groupRollouts } from '../rollouts/collect-rollouts.ts';
import { annotatedGroups, goodReward } from '../stored-data/annotated-groups.ts';

/** The examples of a data set. */
export interface DatasetChoice {
  readonly run: string;
  readonly format: 'chat' | 'preference';
  /** What decides which rollouts are good. */
  readonly by: 'rewards' | 'annotations';
  readonly minReward?: number;
  readonly best?: number;
  readonly minGap?: number;
  readonly agent?: readonly string[];
  readonly mode: RolloutMode;
}

/** Counts of written and skipped examples. */
export interface DatasetCounts {
  lines: number;
  rollouts: number;
  withoutCommonPrompt: number;
}

/** Counts of an empty data set. */
export function emptyDatasetCounts(): DatasetCounts {
  return { lines: 0, rollouts: 0, withoutCommonPrompt: 0 };
}

/** The lines of a data set, task by task, with memory independent of the size of the run. */
export async function* datasetLines(store: Store, flags: DatasetChoice, counts: DatasetCounts): AsyncGenerator<string> {
  for await (const group of groupsOf(store, flags)) {
    counts.rollouts += group.rollouts.length;
    const judged = flags.by === 'rewards' ? [group] : annotatedGroups(group, flags.format);
    for (const example of judged.flatMap((each) => examplesOf(each, flags, counts))) {
      counts.lines += 1;
      yield `${JSON.stringify(example)}\n`;
    }
  }
}

function examplesOf(group: CollectedGroup, flags: DatasetChoice, counts: DatasetCounts): readonly object[] {
  const agents = flags.agent === undefined ? {} : { agents: flags.agent };
  if (flags.format === 'preference') {
    const gap = flags.minGap === undefined ? {} : { minGap: flags.minGap };
    const { examples, withoutCommonPrompt } = preferenceExamples([group], { ...agents, ...gap });
    counts.withoutCommonPrompt += withoutCommonPrompt;
    return examples;
  }
  return fineTuneExamples([group], {
    ...agents,
    ...(flags.minReward === undefined ? {} : { minReward: flags.minReward }),
    ...(flags.by === 'annotations' ? { minReward: goodReward } : {}),
    ...(flags.best === undefined ? {} : { keepBest: flags.best }),
  });
}

/** The rollouts of each task with their spans, one task at a time. */
async function* groupsOf(store: Store, { run, mode, format }: DatasetChoice): AsyncGenerator<CollectedGroup> {
  const { items } = await store.queryRollouts({ runId: run, modeIn: [mode], statusIn: ['succeeded'] });
  const bare = items.map((rollout) => ({ rollout, attemptId: null, spans: [] }));
  const groups = format === 'chat' ? groupRollouts(bare, taskOf) : groupRollouts(bare);
  for (const { groupId, rollouts } of groups) {
    const members = rollouts.map(({ rollout }) => rollout);
    yield { groupId, rollouts: await readFinishedRollouts(store, members) };
  }
}

/** Tasks repeat in every epoch: groups of the same task are merged, so that the best rollouts are selected once per task. */
function taskOf({ input }: Rollout): string {
  return JSON.stringify(input);
}
