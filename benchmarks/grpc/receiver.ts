/** The receiving process: decodes batches of every transport into arrays of numbers before it acknowledges. @module */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import { type EngineModel, encodeBatch, type RuntimeEngine, serveRuntime } from '@agentlightning/runtime';
import { fromBinary } from '@bufbuild/protobuf';
import { type handleClientStreamingCall, Server, ServerCredentials } from '@grpc/grpc-js';
import { repeatedBatch, repeatedPath } from './repeated-messages.ts';

const sizes = new Map<string, number>();

/** A model without computation, so that only the transport is measured. */
function noOpModel(modelId: string): EngineModel {
  const unsupported = (): Promise<never> => Promise.reject(new TypeError('not used by the benchmark'));
  return {
    modelId,
    baseModel: 'no-op',
    seed: 1,
    state: () => ({ step: 0, policyVersion: 0, isCorrupted: false }),
    forwardBackward: async (batch) => ({ loss: 0, trainedTokens: 0, metrics: { payload_bytes: sizeOf(batch) } }),
    unload: async () => {},
    discardGradients: async () => {},
    listCheckpoints: async () => [],
    forward: unsupported,
    optimStep: unsupported,
    publishWeights: unsupported,
    saveCheckpoint: unsupported,
    loadCheckpoint: unsupported,
    deleteCheckpoint: unsupported,
    endpoint: unsupported,
    pause: unsupported,
    resume: unsupported,
  };
}

/** Size on the wire, computed once for each kind of batch, outside the measurement. */
function sizeOf(batch: TrainingBatch): number {
  const trained = JSON.stringify(batch.data[0]?.trained);
  const size = sizes.get(trained) ?? encodeBatch(batch).payload.byteLength;
  sizes.set(trained, size);
  return size;
}

/** An engine whose models are {@link noOpModel}. */
const noOpEngine: RuntimeEngine = {
  capabilities: () => ({
    runtimeVersion: '0.0.0',
    device: 'none',
    models: [{ name: 'no-op', maxContext: 8_192, vocabSize: 200_000 }],
    losses: [{ name: 'importance_sampling', version: 1, defaults: {} }],
    maxBatchTokens: 10_000_000,
  }),
  createModel: async ({ modelId }) => noOpModel(modelId),
  close: async () => {},
};

const runtime = await serveRuntime({ engine: noOpEngine });

const http = createServer((request, response) => {
  void json(request).then(() => response.end('{}'));
});
// The sender pauses for longer than the default while it measures the other transports.
http.keepAliveTimeout = 0;
await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));

const receiveRepeated: handleClientStreamingCall<Buffer, Buffer> = (call, callback) => {
  const chunks: Buffer[] = [];
  call.on('data', (chunk: Buffer) => chunks.push(chunk));
  call.on('end', () => {
    fromBinary(repeatedBatch, Buffer.concat(chunks));
    callback(null, Buffer.alloc(0));
  });
};
const same = (bytes: Buffer): Buffer => bytes;
const grpc = new Server();
const method = {
  path: repeatedPath,
  requestStream: true,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};
grpc.addService({ send: method }, { send: receiveRepeated });
const repeatedPort = await new Promise<number>((resolve, reject) => {
  grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
    error === null ? resolve(port) : reject(error),
  );
});

process.send?.({ address: runtime.address, jsonPort: (http.address() as AddressInfo).port, repeatedPort });
process.once('message', () => process.exit());
process.once('disconnect', () => process.exit());
