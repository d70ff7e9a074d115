import { AgentLightningError } from '@agentlightning/core';
import { textTable } from '../../report/text-formats.ts';
import {
  type DatasetPart,
  type DatasetVersion,
  findDatasets,
  getDataset,
  readDataset,
} from '../../stored-data/named-dataset.ts';
import { openExistingStore } from '../open-existing-store.ts';
import { writeLines } from './write-production-dataset.ts';

/** The flags of `agl datasets`. */
export interface DatasetsFlags {
  readonly out?: string;
  readonly part: DatasetPart;
  readonly store: string;
  readonly json?: boolean;
}

/**
 * Lists the versions of data sets, shows one, or writes its lines.
 *
 * @throws AgentLightningError CONFIG for lines without a version; as `getDataset` for an unknown version
 */
export async function listDatasets(version: string | null, flags: DatasetsFlags): Promise<void> {
  const { out, part } = flags;
  if (version === null && out !== undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: '--out needs a version of a data set',
      remedy: 'Run `agl datasets <name>@<version> --out <file>`; `agl datasets` lists the versions.',
    });
  }
  const store = await openExistingStore(flags.store);
  try {
    if (version !== null && out !== undefined) return await writeLines(out, await readDataset(store, version, part));
    const found = version === null ? await findDatasets(store) : [await getDataset(store, version)];
    for (const line of textOf(found, version !== null, flags)) process.stdout.write(`${line}\n`);
  } finally {
    await store.close();
  }
}

function textOf(
  versions: readonly DatasetVersion[],
  isOne: boolean,
  { json }: Pick<DatasetsFlags, 'json'>,
): readonly string[] {
  if (json === true) return versions.map((each) => JSON.stringify(recordOf(each)));
  if (isOne) return versions.map((each) => JSON.stringify(recordOf(each), null, 2));
  if (versions.length === 0) return ['No data set yet. `agl dataset --from <deployment> --name <name>` stores one.'];
  const rows = versions.map(({ id, format, parts, createTimeMs, by }) => {
    const digest = parts.train.sha256.slice(0, 12);
    return [
      id,
      format,
      `${parts.train.lines}`,
      `${parts.test.lines}`,
      digest,
      new Date(createTimeMs).toISOString(),
      by,
    ];
  });
  return textTable(['data set', 'format', 'train', 'test', 'sha256 of train', 'created', 'by'], rows);
}

function recordOf({ id, createTimeMs, format, parts, selection, by }: DatasetVersion): object {
  return { dataset: id, format, parts, selection, by, created: new Date(createTimeMs).toISOString() };
}
