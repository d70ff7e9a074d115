import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentLightningError, type JsonObject, type JsonValue, type Store } from '@agentlightning/core';
import { quantityText } from '@agentlightning/core/internal';
import {
  type DatasetChoice,
  type DatasetCounts,
  datasetLines,
  emptyDatasetCounts,
} from '../../dataset/dataset-lines.ts';
import type { ProductionChoice } from '../../stored-data/production-lines.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { storeVersion } from './store-version.ts';
import { writeLines, writeProductionDataset, writeWhole } from './write-production-dataset.ts';

/** The flags of `agl dataset`. */
export interface DatasetFlags extends Omit<DatasetChoice, 'run' | 'format'> {
  readonly run?: string;
  readonly from?: string;
  readonly format: DatasetChoice['format'] | 'tasks';
  readonly since?: number;
  readonly minScore?: number;
  readonly style: ProductionChoice['style'];
  readonly testOut?: string;
  readonly testShare: number;
  readonly splitBy: ProductionChoice['splitBy'];
  readonly name?: string;
  readonly out?: string;
  readonly store: string;
}

type RunDatasetFlags = DatasetChoice & Pick<DatasetFlags, 'name' | 'store'> & { readonly out: string | null };

/** Writes the data set of a run or a deployment, or stores it under a name. */
export async function writeDataset(flags: DatasetFlags): Promise<void> {
  const { run, from, format, name } = flags;
  const out = flags.out ?? (name === undefined ? '-' : null);
  if (from !== undefined) return writeProductionDataset({ ...flags, out, deployment: from });
  if (run === undefined || format === 'tasks') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: run === undefined ? 'agl dataset needs a run or a deployment' : '--format tasks is of a deployment',
      remedy: 'Pass --run <id>, or --from <deployment>.',
    });
  }
  await writeRunDataset({ ...flags, out, run, format });
}

/** Writes the data set task by task, with memory independent of the size of the run. */
async function writeRunDataset(flags: RunDatasetFlags): Promise<void> {
  assertFlagsFit(flags);
  const store = await openExistingStore(flags.store);
  const counts = emptyDatasetCounts();
  try {
    await store.getRun(flags.run);
    if (flags.name !== undefined) return await storeRunDataset(store, { ...flags, name: flags.name }, counts);
    const lines = Readable.from(datasetLines(store, flags, counts));
    if (flags.out === '-' || flags.out === null) await pipeline(lines, process.stdout, { end: false });
    else await writeWhole(lines, path.resolve(flags.out));
  } finally {
    await store.close();
  }
  process.stderr.write(`${summary(flags, counts)}\n`);
}

async function storeRunDataset(
  store: Store,
  flags: RunDatasetFlags & { readonly name: string },
  counts: DatasetCounts,
): Promise<void> {
  const lines: JsonValue[] = [];
  for await (const line of datasetLines(store, flags, counts)) lines.push(JSON.parse(line) as JsonValue);
  const { name, format, out, run, by, mode, minReward, best, minGap, agent } = flags;
  const selection = JSON.parse(JSON.stringify({ run, by, mode, minReward, best, minGap, agent })) as JsonObject;
  await storeVersion(store, { name, format, lines: { train: lines, test: [] }, selection });
  if (out !== null) await writeLines(out, lines);
  process.stderr.write(`${summary(flags, counts)}\n`);
}

function assertFlagsFit({ format, by, minReward, best, minGap }: RunDatasetFlags): void {
  if (by === 'annotations' && (minReward ?? minGap) !== undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${minReward === undefined ? '--min-gap' : '--min-reward'} has no meaning for --by annotations`,
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

function summary({ out, format }: RunDatasetFlags, { lines, rollouts, withoutCommonPrompt }: DatasetCounts): string {
  const where = out === '-' || out === null ? '' : ` to ${out}`;
  const skipped =
    format === 'preference' && withoutCommonPrompt > 0
      ? `; ${withoutCommonPrompt} pairs have no request in common and are excluded`
      : '';
  return `Wrote ${quantityText(lines, 'example')} of ${quantityText(rollouts, 'rollout')}${where}${skipped}.`;
}
