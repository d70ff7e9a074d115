/**
 * `pnpm bench grpc [--rounds 15]`: the cost of sending a batch of one million tokens to a training runtime on the same machine:
 * bytes per token, CPU time of the sender's event loop, and the duration until a no-op operation after it is acknowledged.
 * Beside it, in the same run, the same batch as JSON over HTTP and as `repeated` fields over gRPC.
 *
 * @module
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import { connectRuntime } from '@agentlightning/runtime';
import { create, toBinary } from '@bufbuild/protobuf';
import { ChannelCredentials, Client } from '@grpc/grpc-js';
import { forkModule } from '../child-process.ts';
import { parseFlags } from '../flags.ts';
import { type BenchmarkResult, type Bound, report, result } from '../report.ts';
import { measureInTurns } from '../rounds.ts';
import { median } from '../statistics.ts';
import { chunkBytes, repeatedBatch, repeatedPath } from './repeated-messages.ts';

const { rounds } = parseFlags({ rounds: 15 });
const warmUps = 3;

const rowCount = 256;
const rowTokens = 3_906;

/** Sends batches to another process, which decodes them into arrays of numbers before it acknowledges. */
interface Transport {
  readonly name: string;
  /** Sends a batch. @returns its size on the wire in bytes, once it is acknowledged */
  send(batch: TrainingBatch): Promise<number>;
  close(): Promise<void>;
}

/** The cost of sending one batch. */
interface Cost {
  readonly bytes: number;
  /** CPU time of the sender's thread, in milliseconds. */
  readonly busyMs: number;
  /** From the call to the acknowledgement, in milliseconds. */
  readonly wallMs: number;
}

/** The contract: packed arrays in chunks, validated by the runtime. */
async function packedTransport(address: string): Promise<Transport> {
  const runtime = await connectRuntime({ address });
  const model = await runtime.createModel({ baseModel: 'no-op', modelId: 'benchmark', seed: 1 });
  return {
    name: 'packed',
    send: async (batch) => {
      const { result } = await model.forwardBackward(batch, { name: 'importance_sampling', parameters: {} });
      return (await result).metrics['payload_bytes'] ?? Number.NaN;
    },
    close: () => runtime.close(),
  };
}

/** `repeated` fields over gRPC, in chunks of the contract's size. */
function repeatedTransport(port: number): Transport {
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure());
  return {
    name: 'repeated fields',
    send: async (batch) => {
      const bytes = toBinary(repeatedBatch, create(repeatedBatch, { data: batch.data.map(repeatedDatum) }));
      await upload(client, bytes);
      return bytes.byteLength;
    },
    close: async () => client.close(),
  };
}

function repeatedDatum({ trained, ...datum }: TrainingDatum): object {
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
  const acknowledged = Promise.withResolvers<void>();
  const same = (chunk: Buffer): Buffer => chunk;
  const stream = client.makeClientStreamRequest(repeatedPath, same, same, (error) =>
    error === null ? acknowledged.resolve() : acknowledged.reject(error),
  );
  for (let offset = 0; offset < bytes.byteLength; offset += chunkBytes) {
    if (!stream.write(Buffer.from(bytes.subarray(offset, offset + chunkBytes)))) await once(stream, 'drain');
  }
  stream.end();
  await acknowledged.promise;
}

/** JSON in the body of an HTTP request. */
function jsonTransport(port: number): Transport {
  const agent = new Agent({ keepAlive: true });
  return {
    name: 'JSON',
    send: async (batch) => {
      const body = Buffer.from(JSON.stringify(batch.data.map(jsonDatum)));
      await post(body, { agent, port });
      return body.byteLength;
    },
    close: async () => agent.destroy(),
  };
}

function jsonDatum({ tokenIds, samplingLogprobs, advantages, weights, ...rest }: TrainingDatum): object {
  return {
    ...rest,
    tokenIds: [...tokenIds],
    samplingLogprobs: [...samplingLogprobs],
    advantages: [...advantages],
    weights: [...weights],
  };
}

function post(body: Buffer, { agent, port }: { readonly agent: Agent; readonly port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    const sending = request({ agent, port, method: 'POST', headers: { 'content-length': body.byteLength } });
    sending.on('error', reject);
    sending.on('response', (response) => void text(response).then(resolve, reject));
    sending.end(body);
  });
}

/** About a million tokens as in a GRPO step: each row has one advantage, one weight and four trained intervals. */
function millionTokens(trainedFraction: number): TrainingBatch {
  return { data: Array.from({ length: rowCount }, (_, row) => aRow(row, trainedFraction)) };
}

function aRow(row: number, trainedFraction: number): TrainingDatum {
  const trained = trainedTurns(trainedFraction);
  const count = trained.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    tokenIds: Int32Array.from({ length: rowTokens }, (_, at) => (row * 7_919 + at * 104_729) % 151_936),
    trained,
    samplingLogprobs: Float32Array.from({ length: count }, (_, at) => -((row + at * 37) % 997) / 199),
    advantages: new Float32Array(count).fill((row % 17) / 8 - 1),
    weights: new Float32Array(count).fill(1 / (rowCount * count)),
    temperature: 1,
    rolloutId: `ro-${String(row).padStart(12, '0')}`,
    groupId: `task-${Math.floor(row / 16)}`,
    minPolicyVersion: 3,
    maxPolicyVersion: 4,
  };
}

/** Four responses of an agent, evenly distributed; fully trained, all tokens but the first. */
function trainedTurns(trainedFraction: number): TrainingDatum['trained'] {
  const turnTokens = rowTokens / 4;
  return Array.from({ length: 4 }, (_, turn) => {
    const [begin, end] = [Math.floor(turn * turnTokens), Math.floor((turn + 1) * turnTokens)];
    return { start: Math.max(1, begin, Math.ceil(end - turnTokens * trainedFraction)), end };
  });
}

async function costOf(transport: Transport, batch: TrainingBatch): Promise<Cost> {
  const before = process.threadCpuUsage();
  const startedAtMs = performance.now();
  const bytes = await transport.send(batch);
  const wallMs = performance.now() - startedAtMs;
  // Includes work queued for the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  const { user, system } = process.threadCpuUsage(before);
  return { bytes, wallMs, busyMs: (user + system) / 1_000 };
}

/** @param isTarget - whether the figures have targets */
function resultsOf(name: string, costs: readonly Cost[], isTarget: boolean): BenchmarkResult[] {
  const bound = (atMost: number): Bound => (isTarget ? { atMost } : null);
  const bytesPerToken = median(costs.map(({ bytes }) => bytes)) / (rowCount * rowTokens);
  // A mean, because systems count CPU time in steps longer than this.
  const busyMs = costs.reduce((sum, cost) => sum + cost.busyMs, 0) / costs.length;
  const wallMs = median(costs.map((cost) => cost.wallMs));
  return [
    result(`${name}: bytes a token`, { value: bytesPerToken, unit: 'B' }, bound(5.2)),
    result(`${name}: sender's thread`, { value: busyMs, unit: 'ms' }, bound(15)),
    result(`${name}: end to end`, { value: wallMs, unit: 'ms' }, null),
  ];
}

const receiver = await forkModule<{
  readonly address: string;
  readonly jsonPort: number;
  readonly repeatedPort: number;
}>(path.join(import.meta.dirname, 'receiver.ts'));
const { address, jsonPort, repeatedPort } = receiver.ready;
const transports = [await packedTransport(address), repeatedTransport(repeatedPort), jsonTransport(jsonPort)];
const results: BenchmarkResult[] = [];
try {
  for (const fraction of [0.1, 0.24, 1]) {
    const batch = millionTokens(fraction);
    const costs = await measureInTurns(transports, { rounds, warmUps }, (transport) => costOf(transport, batch));
    for (const [transport, samples] of costs) {
      const isTarget = transport === transports[0] && fraction === 0.24;
      results.push(...resultsOf(`${transport.name}, ${fraction * 100} % trained`, samples, isTarget));
    }
  }
} finally {
  for (const transport of transports) await transport.close();
  await receiver.close();
}
report('grpc', results);
