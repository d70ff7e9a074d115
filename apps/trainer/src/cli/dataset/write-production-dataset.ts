import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentLightningError, type Store } from '@agentlightning/core';
import { quantityText } from '@agentlightning/core/internal';
import {
  type DatasetPart,
  type ProductionChoice,
  type ProductionCounts,
  productionLines,
} from '../../dataset/production-lines.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl dataset --from`. */
interface ProductionFlags extends Omit<ProductionChoice, 'fromMs' | 'minScore' | 'minGap'> {
  readonly since?: number;
  readonly minScore?: number;
  readonly minGap?: number;
  readonly out: string;
  readonly testOut?: string;
  readonly store: string;
}

/** Writes the lines of a deployment to one file, or to one for training and one for the test. */
export async function writeProductionDataset(flags: ProductionFlags): Promise<void> {
  const { deployment, format, style, splitBy, testOut, out } = flags;
  if (!(flags.testShare > 0 && flags.testShare < 1)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `Invalid --test-share: ${flags.testShare}`,
      remedy: 'Pass a share between 0 and 1, such as 0.2.',
    });
  }
  const choice: ProductionChoice = {
    deployment,
    format,
    style,
    splitBy,
    fromMs: flags.since === undefined ? null : Date.now() - flags.since,
    minScore: flags.minScore ?? null,
    minGap: flags.minGap ?? null,
    testShare: testOut === undefined ? 0 : flags.testShare,
  };
  const store = await openExistingStore(flags.store);
  const counts = { rollouts: 0, lines: 0, duplicates: 0 };
  try {
    await store.getRun(deployment);
    const lines = await linesOf(store, choice, counts);
    await writePart(out, lines.train, choice);
    if (testOut !== undefined) await writePart(testOut, lines.test, choice);
  } finally {
    await store.close();
  }
  process.stderr.write(`${summary(counts)}\n`);
}

type Parts = Readonly<Record<DatasetPart, string[]>>;

async function linesOf(store: Store, choice: ProductionChoice, counts: ProductionCounts): Promise<Parts> {
  const parts: Parts = { train: [], test: [] };
  for await (const { part, line } of productionLines(store, choice, counts)) {
    parts[part].push(`${JSON.stringify(line)}\n`);
  }
  return parts;
}

async function writePart(out: string, lines: readonly string[], choice: ProductionChoice): Promise<void> {
  if (out === '-') {
    await pipeline(Readable.from(lines), process.stdout, { end: false });
    return;
  }
  const file = path.resolve(out);
  await writeWhole(Readable.from(lines), file);
  const digest = createHash('sha256');
  for (const line of lines) digest.update(line);
  const manifest = { ...choice, lines: lines.length, sha256: digest.digest('hex') };
  await writeFile(`${file}.manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`);
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
