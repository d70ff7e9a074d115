import { once } from 'node:events';
import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import { create, toBinary } from '@bufbuild/protobuf';
import { ChannelCredentials, Client } from '@grpc/grpc-js';
import { pieceBytes, repeatedBatch, repeatedPath } from './repeated-messages.ts';
import type { Way } from './way.ts';

/** `repeated` fields over gRPC, in pieces as large as the contract's. */
export function repeatedWay(port: number): Way {
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure());
  return {
    name: 'repeated fields',
    send: async (batch) => {
      const bytes = toBinary(repeatedBatch, create(repeatedBatch, { data: batch.data.map(message) }));
      await upload(client, bytes);
      return bytes.byteLength;
    },
    close: async () => client.close(),
  };
}

function message({ trained, ...datum }: TrainingBatch['data'][number]): object {
  const { samplingLogprobs, advantages, weights, rolloutId, groupId } = datum;
  return {
    tokenIds: [...datum.tokenIds],
    trained: trained.flatMap(({ start, end }) => [start, end]),
    samplingLogprobs: [...samplingLogprobs],
    advantages: [...advantages],
    weights: [...weights],
    rolloutId,
    groupId,
  };
}

async function upload(client: Client, bytes: Uint8Array): Promise<void> {
  let settle: (error: Error | null) => void = () => {};
  const answered = new Promise<void>((resolve, reject) => {
    settle = (error) => (error === null ? resolve() : reject(error));
  });
  const same = (piece: Buffer): Buffer => piece;
  const stream = client.makeClientStreamRequest(repeatedPath, same, same, (error) => settle(error));
  for (let offset = 0; offset < bytes.byteLength; offset += pieceBytes) {
    if (!stream.write(Buffer.from(bytes.subarray(offset, offset + pieceBytes)))) await once(stream, 'drain');
  }
  stream.end();
  await answered;
}
