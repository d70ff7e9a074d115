import { existsSync } from 'node:fs';
import { AgentLightningError, type Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { openStoreByUrl } from '../runtime/open-store-by-url.ts';

/**
 * Opens an existing store for reading.
 *
 * @param apiKey - the key of a store server
 * @throws AgentLightningError NOT_FOUND when the file does not exist
 */
export async function openExistingStore(
  url: string,
  apiKey: string | null = process.env['AGL_STORE_KEY'] ?? null,
): Promise<Store> {
  const file = url.replace(/^sqlite:/, '');
  if (!/^(https?|postgres(ql)?):/.test(url) && !existsSync(file)) {
    throw new AgentLightningError({
      code: 'NOT_FOUND',
      message: `there is no store at ${addressText(file)}`,
      remedy: 'Give its path: `--store sqlite:path/to/.agl/agl.db`.',
    });
  }
  return await openStoreByUrl({ url, apiKey });
}
