import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { addressText, quantityText } from '@agentlightning/core/internal';
import { openStoreByUrl } from '../runtime/open-store-by-url.ts';
import { type Finding, fine } from './finding.ts';

/** Checks that the store can be opened and read, or that its file can be created. */
export async function checkStore(url: string, apiKey: string | null): Promise<Finding> {
  const file = /^(https?|postgres(ql)?):/.test(url) ? null : path.resolve(url.replace(/^sqlite:/, ''));
  const shown = addressText(url);
  if (file !== null && !existsSync(file)) return checkFolder(file);
  try {
    const store = await openStoreByUrl({ url, apiKey, unreachableAfterMs: 0 });
    try {
      const { total } = await store.queryRuns({ limit: 1 });
      return fine('store', `${shown}, ${quantityText(total, 'run')}`);
    } finally {
      await store.close();
    }
  } catch (error) {
    const isOurs = AgentLightningError.isInstance(error);
    const detail = `${shown}: ${isOurs ? error.message : String(error)}`;
    return { name: 'store', status: 'error', detail, remedy: isOurs ? error.remedy : 'Check the address.' };
  }
}

function checkFolder(file: string): Finding {
  let folder = path.dirname(file);
  while (!existsSync(folder)) folder = path.dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return fine('store', `${file} will be created`);
  } catch {
    const detail = `${file} cannot be created: ${folder} is not writable`;
    return {
      name: 'store',
      status: 'error',
      detail,
      remedy: 'Change the permissions, or set `run.dataDir` to another folder.',
    };
  }
}
