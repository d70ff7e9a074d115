import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentLightningError } from '@agentlightning/core';
import { quantityText } from '@agentlightning/core/internal';
import {
  type DatasetChoice,
  type DatasetCounts,
  datasetLines,
  emptyDatasetCounts,
} from '../../dataset/dataset-lines.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl dataset`. */
export interface DatasetFlags extends DatasetChoice {
  readonly out: string;
  readonly store: string;
}

/** Writes the data set task by task, with memory independent of the size of the run. */
export async function writeDataset(flags: DatasetFlags): Promise<void> {
  assertFlagsFit(flags);
  const store = await openExistingStore(flags.store);
  const counts = emptyDatasetCounts();
  try {
    await store.getRun(flags.run);
    const lines = Readable.from(datasetLines(store, flags, counts));
    if (flags.out === '-') await pipeline(lines, process.stdout, { end: false });
    else await writeWhole(lines, path.resolve(flags.out));
  } finally {
    await store.close();
  }
  process.stderr.write(`${summary(flags, counts)}\n`);
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

function summary({ out, format }: DatasetFlags, { lines, rollouts, withoutCommonPrompt }: DatasetCounts): string {
  const where = out === '-' ? '' : ` to ${out}`;
  const skipped =
    format === 'preference' && withoutCommonPrompt > 0
      ? `; ${withoutCommonPrompt} pairs have no request in common and are excluded`
      : '';
  return `Wrote ${quantityText(lines, 'example')} of ${quantityText(rollouts, 'rollout')}${where}${skipped}.`;
}
