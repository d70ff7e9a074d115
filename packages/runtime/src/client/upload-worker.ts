// The program of the thread of `UploadThread`.
import { parentPort, workerData } from 'node:worker_threads';
import { toBinary } from '@bufbuild/protobuf';
import type { ServiceError } from '@grpc/grpc-js';
import { SubmitBatchResponseSchema, TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { createServiceClient } from '../grpc/service-client.ts';
import { BufferPool } from './buffer-pool.ts';
import { type ChannelSettings, openChannel } from './open-channel.ts';
import { toPlainError } from './plain-service-error.ts';
import { type BatchUpload, uploadBatch } from './upload-batch.ts';
import type { UploadAnswer, UploadRequest } from './upload-thread.ts';

const settings: ChannelSettings = workerData;
const way = {
  training: createServiceClient(TrainingService, { client: openChannel(settings), apiKey: settings.apiKey }),
  buffers: new BufferPool(),
};

parentPort?.on('message', async ({ id, upload }: UploadRequest) => {
  parentPort?.postMessage({ id, outcome: await outcomeOf(upload) } satisfies UploadAnswer);
});

async function outcomeOf(upload: BatchUpload): Promise<UploadAnswer['outcome']> {
  try {
    return { response: toBinary(SubmitBatchResponseSchema, await uploadBatch(way, upload)) };
  } catch (error) {
    // Whatever else it is, the other thread tries for itself, and says so where it matters.
    return isServiceError(error) ? { error: toPlainError(error) } : null;
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error && 'details' in error;
}
