import type { BatchUpload } from '../../src/client/upload-batch.ts';
import { aBatch } from '../../src/testing/a-batch.ts';
import { openRawClient, type RawClient } from '../../src/testing/raw-client.ts';
import { openRawModel, type RawModel } from '../../src/testing/raw-model.ts';

/** A session with a model, and the first batch for it. */
export interface SessionAndModel {
  readonly client: RawClient;
  readonly model: RawModel;
  readonly upload: BatchUpload;
}

export async function sessionAndModel(address: string, apiKey?: string): Promise<SessionAndModel> {
  const client = openRawClient(address, apiKey);
  const model = await openRawModel(client, 'model');
  const { header, payload } = model.upload(1, aBatch([1, 2, 3]));
  return { client, model, upload: { header, payload: payload ?? new Uint8Array() } };
}
