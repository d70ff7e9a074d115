import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentLightningError, type JsonValue, type Store } from '@agentlightning/core';
import { quantityText, systemClock } from '@agentlightning/core/internal';
import { type DatasetLines, jsonLines } from '../../stored-data/named-dataset.ts';
import { type ProductionChoice, type ProductionCounts, productionLines } from '../../stored-data/production-lines.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { storeVersion } from './store-version.ts';

/** The flags of `agl dataset --from`. */
interface ProductionFlags extends Omit<ProductionChoice, 'fromMs' | 'untilMs' | 'minScore' | 'minGap'> {
  readonly name?: string;
  readonly since?: number;
  readonly minScore?: number;
  readonly minGap?: number;
  /** Null for none. */
  readonly out: string | null;
  readonly testOut?: string;
  readonly store: string;
}

/** Writes the lines of a deployment to one file, or to one for training and one for the test; or stores them under a name. */
export async function writeProductionDataset(flags: ProductionFlags): Promise<void> {
  const { deployment, format, style, splitBy, testOut, out, name } = flags;
  const untilMs = systemClock.now();
  const isSplit = testOut !== undefined || name !== undefined;
  // A named data set has both parts, or all lines in one.
  if (!(flags.testShare > 0 || (name !== undefined && flags.testShare === 0)) || flags.testShare >= 1) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `Invalid --test-share: ${flags.testShare}`,
      remedy: 'Pass a share between 0 and 1, such as 0.2; with --name also 0, for all lines in the part train.',
    });
  }
  const choice: ProductionChoice = {
    deployment,
    format,
    style,
    splitBy,
    fromMs: flags.since === undefined ? null : untilMs - flags.since,
    untilMs,
    minScore: flags.minScore ?? null,
    minGap: flags.minGap ?? null,
    testShare: isSplit ? flags.testShare : 0,
  };
  const store = await openExistingStore(flags.store);
  const counts = { rollouts: 0, lines: 0, duplicates: 0 };
  try {
    await store.getRun(deployment);
    const lines = await linesOf(store, choice, counts);
    if (name !== undefined) await storeVersion(store, { name, format, lines, selection: { ...choice } });
    if (out !== null) await writePart(out, lines.train, choice);
    if (testOut !== undefined) await writePart(testOut, lines.test, choice);
  } finally {
    await store.close();
  }
  process.stderr.write(`${summary(counts)}\n`);
}

async function linesOf(store: Store, choice: ProductionChoice, counts: ProductionCounts): Promise<DatasetLines> {
  const parts: { readonly train: JsonValue[]; readonly test: JsonValue[] } = { train: [], test: [] };
  for await (const { part, line } of productionLines(store, choice, counts)) parts[part].push(line);
  return parts;
}

async function writePart(out: string, lines: readonly JsonValue[], choice: ProductionChoice): Promise<void> {
  await writeLines(out, lines);
  if (out === '-') return;
  const file = path.resolve(out);
  const sha256 = createHash('sha256').update(jsonLines(lines)).digest('hex');
  const manifest = { ...choice, lines: lines.length, sha256 };
  await writeFile(`${file}.manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Writes lines to a file, or with `-` to the standard output. */
export async function writeLines(out: string, lines: readonly JsonValue[]): Promise<void> {
  const text = Readable.from(lines.map((line) => `${JSON.stringify(line)}\n`));
  if (out === '-') await pipeline(text, process.stdout, { end: false });
  else await writeWhole(text, path.resolve(out));
}

/** The file is renamed to its final name when it is complete. */
export async function writeWhole(lines: Readable, file: string): Promise<void> {
  const partial = `${file}.partial`;
  try {
    await pipeline(lines, createWriteStream(partial));
    await rename(partial, file);
  } finally {
    await rm(partial, { force: true });
  }
}

function summary({ lines, rollouts, duplicates }: ProductionCounts): string {
  const skipped = duplicates === 0 ? '' : `; ${duplicates} are repeated, or have a prompt of the other file`;
  return `Wrote ${quantityText(lines, 'example')} of ${quantityText(rollouts, 'trace')}${skipped}.`;
}
