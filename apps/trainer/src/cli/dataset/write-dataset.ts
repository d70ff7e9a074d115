import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fineTuneExamples, preferenceExamples } from '@agentlightning/algorithms';
import { AgentLightningError, type Rollout, type RolloutMode, type Store } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { readFinishedRollouts } from '../../evaluation/finished-rollout.ts';
import { groupRollouts } from '../../rollouts/collect-rollouts.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { annotatedGroups, goodReward } from './annotated-groups.ts';

/** The flags of `agl dataset`. */
export interface DatasetFlags {
  readonly run: string;
  readonly format: 'chat' | 'preference';
  /** What decides which rollouts are good. */
  readonly from: 'rewards' | 'annotations';
  readonly minReward?: number;
  readonly best?: number;
  readonly minGap?: number;
  readonly agent?: readonly string[];
  readonly mode: RolloutMode;
  readonly out: string;
  readonly store: string;
}

/** Counts of written and skipped examples. */
interface Tally {
  lines: number;
  rollouts: number;
  withoutCommonPrompt: number;
}

/** Writes the data set task by task, with memory independent of the size of the run. */
export async function writeDataset(flags: DatasetFlags): Promise<void> {
  assertFlagsFit(flags);
  const store = await openExistingStore(flags.store);
  const tally: Tally = { lines: 0, rollouts: 0, withoutCommonPrompt: 0 };
  try {
    await store.getRun(flags.run);
    const lines = Readable.from(linesOf(store, flags, tally));
    if (flags.out === '-') await pipeline(lines, process.stdout, { end: false });
    else await writeWhole(lines, path.resolve(flags.out));
  } finally {
    await store.close();
  }
  process.stderr.write(`${summary(flags, tally)}\n`);
}

async function* linesOf(store: Store, flags: DatasetFlags, tally: Tally): AsyncGenerator<string> {
  for await (const group of groupsOf(store, flags)) {
    tally.rollouts += group.rollouts.length;
    const judged = flags.from === 'rewards' ? [group] : annotatedGroups(group, flags.format);
    for (const example of judged.flatMap((each) => examplesOf(each, flags, tally))) {
      tally.lines += 1;
      yield `${JSON.stringify(example)}\n`;
    }
  }
}

function examplesOf(group: CollectedGroup, flags: DatasetFlags, tally: Tally): readonly object[] {
  const agents = flags.agent === undefined ? {} : { agents: flags.agent };
  if (flags.format === 'preference') {
    const gap = flags.minGap === undefined ? {} : { minGap: flags.minGap };
    const { examples, withoutCommonPrompt } = preferenceExamples([group], { ...agents, ...gap });
    tally.withoutCommonPrompt += withoutCommonPrompt;
    return examples;
  }
  return fineTuneExamples([group], {
    ...agents,
    ...(flags.minReward === undefined ? {} : { minReward: flags.minReward }),
    ...(flags.from === 'annotations' ? { minReward: goodReward } : {}),
    ...(flags.best === undefined ? {} : { keepBest: flags.best }),
  });
}

/** The rollouts of each task with their spans, one task at a time. */
async function* groupsOf(store: Store, { run, mode, format }: DatasetFlags): AsyncGenerator<CollectedGroup> {
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

/** The file is renamed to its final name when it is complete. */
async function writeWhole(lines: Readable, file: string): Promise<void> {
  const partial = `${file}.partial`;
  try {
    await pipeline(lines, createWriteStream(partial));
    await rename(partial, file);
  } finally {
    await rm(partial, { force: true });
  }
}

function assertFlagsFit({ format, from, minReward, best, minGap }: DatasetFlags): void {
  if (from === 'annotations' && (minReward ?? minGap) !== undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${minReward === undefined ? '--min-gap' : '--min-reward'} has no meaning for --from annotations`,
      remedy: 'Leave it out: labels and preferences decide.',
    });
  }
  const [others, name] =
    format === 'chat'
      ? ([{ '--min-gap': minGap }, 'chat'] as const)
      : ([{ '--min-reward': minReward, '--best': best }, 'preference'] as const);
  const given = Object.entries(others).find(([, value]) => value !== undefined)?.[0];
  if (given === undefined) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${given} has no effect with --format ${name}`,
    remedy: 'Remove it, or choose the other format; `agl dataset --help` lists the flags of each.',
  });
}

function summary({ out, format }: DatasetFlags, { lines, rollouts, withoutCommonPrompt }: Tally): string {
  const where = out === '-' ? '' : ` to ${out}`;
  const skipped =
    format === 'preference' && withoutCommonPrompt > 0
      ? `; ${withoutCommonPrompt} pairs have no request in common and are excluded`
      : '';
  return `Wrote ${lines} examples of ${rollouts} rollouts${where}${skipped}.`;
}
