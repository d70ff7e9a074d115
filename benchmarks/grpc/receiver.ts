// The other process: takes batches in each way, and has them as arrays of numbers when it answers.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { serveRuntime } from '@agentlightning/runtime';
import { fromBinary } from '@bufbuild/protobuf';
import { type handleClientStreamingCall, Server, ServerCredentials } from '@grpc/grpc-js';
import { nothingEngine } from './nothing-engine.ts';
import { repeatedBatch, repeatedPath } from './repeated-messages.ts';

const runtime = await serveRuntime({ engine: nothingEngine });

const http = createServer((request, response) => {
  void json(request).then(() => response.end('{}'));
});
await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));

const takeRepeated: handleClientStreamingCall<Buffer, Buffer> = (call, callback) => {
  const pieces: Buffer[] = [];
  call.on('data', (piece: Buffer) => pieces.push(piece));
  call.on('end', () => {
    fromBinary(repeatedBatch, Buffer.concat(pieces));
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
grpc.addService({ send: method }, { send: takeRepeated });
const repeatedPort = await new Promise<number>((resolve, reject) => {
  grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
    error === null ? resolve(port) : reject(error),
  );
});

process.send?.({ address: runtime.address, jsonPort: (http.address() as AddressInfo).port, repeatedPort });
process.once('disconnect', () => process.exit());
