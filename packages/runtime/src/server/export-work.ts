import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { NotFoundError } from '@agentlightning/core';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ArtifactFileSchema } from '../gen/agentlightning/runtime/v1/artifact_pb.ts';
import {
  type DownloadArtifactRequest,
  type DownloadArtifactResponseSchema,
  type ExportCheckpointRequest,
  ExportFormat,
} from '../gen/agentlightning/runtime/v1/export_pb.ts';
import { chunkBytes } from '../runtime-limits.ts';
import type { EngineArtifact, EngineCapabilities, ExportFormat as EngineFormat } from './engine.ts';
import type { HostedModel } from './hosted-model.ts';
import { assertFeature, invalid } from './invalid.ts';
import type { OperationOutcome } from './operation-record.ts';
import { assertSound } from './runtime-host.ts';

const formats: Partial<Record<ExportFormat, { readonly format: EngineFormat; readonly feature: string }>> = {
  [ExportFormat.SAFETENSORS]: { format: 'safetensors', feature: 'export' },
  [ExportFormat.PEFT]: { format: 'peft', feature: 'export_peft' },
};

/** Exports weights for other programs; the files are kept as long as the operation's result. */
export function exportWork(
  model: HostedModel,
  request: ExportCheckpointRequest,
  capabilities: EngineCapabilities,
): () => Promise<OperationOutcome> {
  const wanted = formats[request.format];
  if (wanted === undefined) throw invalid('format', `is ${request.format}; it must be SAFETENSORS or PEFT`);
  assertFeature(capabilities, wanted.feature, 'format');
  const { uri, key } = request;
  return async () => {
    const engine = assertSound(model);
    if (engine.exportWeights === undefined) throw invalid('format', 'is not supported by this engine');
    const { format } = wanted;
    const artifact = await engine.exportWeights(uri === '' ? { format } : { uri, format });
    const seq = key?.seq ?? 0;
    model.operation(seq).artifact = artifact;
    const files = await Promise.all(artifact.files.map(describeFile));
    return { case: 'artifact', value: { artifactId: `export-${seq}`, files, step: artifact.step } };
  };
}

/** A file of an export in chunks. */
export async function* downloadArtifact(
  model: HostedModel,
  { artifactId, path, offset }: DownloadArtifactRequest,
): AsyncGenerator<MessageInitShape<typeof DownloadArtifactResponseSchema>> {
  const seq = /^export-(\d{1,10})$/.exec(artifactId)?.[1];
  const artifact = seq === undefined ? null : model.operation(Number(seq)).artifact;
  if (artifact === null) throw new NotFoundError('Export', artifactId);
  const found = artifact.files.find((file) => file.path === path);
  if (found === undefined) throw new NotFoundError(`File of ${artifactId}`, path);
  let at = offset;
  const pieces: AsyncIterable<Buffer> = createReadStream(found.file, {
    start: Number(offset),
    highWaterMark: chunkBytes,
  });
  for await (const data of pieces) {
    yield { offset: at, data };
    at += BigInt(data.byteLength);
  }
}

async function describeFile({
  path,
  file,
}: EngineArtifact['files'][number]): Promise<MessageInitShape<typeof ArtifactFileSchema>> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const { size } = await stat(file);
  return { path, sizeBytes: BigInt(size), sha256: hash.digest() };
}
