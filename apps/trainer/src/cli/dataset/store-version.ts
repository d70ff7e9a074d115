import { userInfo } from 'node:os';
import type { Store } from '@agentlightning/core';
import { quantityText } from '@agentlightning/core/internal';
import { type NewDataset, storeDataset } from '../../stored-data/named-dataset.ts';

/** Stores the next version of a data set, and reports it on the standard error. */
export async function storeVersion(store: Store, dataset: Omit<NewDataset, 'by'>): Promise<void> {
  const { id, parts, isNew } = await storeDataset(store, { ...dataset, by: userInfo().username });
  const { train, test } = parts;
  const content = `${quantityText(train.lines, 'line')} for training, ${test.lines} for the test`;
  process.stderr.write(isNew ? `Stored ${id}: ${content}.\n` : `${id} has the same lines already: ${content}.\n`);
}
