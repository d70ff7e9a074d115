import { readFile } from 'node:fs/promises';
import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { writeFileAtomically } from '@agentlightning/runtime/internal/serving';
import * as z from 'zod';
import type { ModelConfig } from '../model/model-config.ts';
import { parameterLayout } from '../model/parameters.ts';
import type { RandomState } from '../random.ts';
import { CheckpointFormatError } from '../runtime-errors.ts';
import type { AdamState } from '../training/optimizer.ts';
import { decodeTensorFile, encodeTensorFile, type StoredTensor, type TensorFile } from './safetensors.ts';

/** The complete state of a model. */
export interface ModelCheckpoint {
  readonly config: ModelConfig;
  readonly parameters: Float32Array;
  /** Absent in checkpoints of weights only. */
  readonly adam?: AdamState;
  readonly weightVersion: number;
  /** Source of seeds for requests without a seed. */
  readonly random: RandomState;
  /** Client state of the checkpoint. */
  readonly clientState: Uint8Array;
}

const formatName = 'agentlightning-cpu/1';

const configSchema: z.ZodType<ModelConfig> = z.strictObject({
  width: z.int().positive(),
  layers: z.int().positive(),
  heads: z.int().positive(),
  hidden: z.int().positive(),
  maxContext: z.int().positive(),
  ropeBase: z.number().positive(),
  normEpsilon: z.number().positive(),
  isTied: z.boolean(),
  initialDeviation: z.number().nonnegative(),
  vocabularySize: z.int().positive(),
  outputSize: z.int().positive(),
  // Older checkpoints omit the field.
  hasValueHead: z.boolean().default(false),
});

const word = z.int().min(0).max(0xffffffff);

const metadataSchema = z.object({
  format: z.literal(formatName),
  config: z.string(),
  step: z.coerce.number().int().nonnegative(),
  weight_version: z.coerce.number().int().nonnegative(),
  random: z.string(),
});

/**
 * Writes a checkpoint as a safetensors file, atomically; returns its size in bytes.
 *
 * @throws AgentLightningError STORE_FULL when the disk is full
 */
export async function writeCheckpoint(path: string, checkpoint: ModelCheckpoint): Promise<number> {
  const bytes = encodeTensorFile(toTensorFile(checkpoint));
  try {
    await writeFileAtomically(path, bytes);
  } catch (cause) {
    throw isFull(cause) ? noRoom(path, cause) : cause;
  }
  return bytes.length;
}

function isFull(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

function noRoom(path: string, cause: Error): AgentLightningError {
  return new AgentLightningError({
    code: 'STORE_FULL',
    message: `Checkpoint cannot be written: ${path}: ${cause.message}`,
    remedy: 'Free disk space for the checkpoints.',
    cause,
  });
}

/** Reads a checkpoint, bitwise identical. */
export async function readCheckpoint(path: string): Promise<ModelCheckpoint> {
  const bytes = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw cause.code === 'ENOENT' ? new NotFoundError('Checkpoint', path) : cause;
  });
  return fromTensorFile(decodeTensorFile(bytes, path), path);
}

function toTensorFile(checkpoint: ModelCheckpoint): TensorFile {
  const { config, parameters, adam, clientState } = checkpoint;
  const vectors = {
    model: parameters,
    ...(adam && { 'adam.first': adam.firstMoments, 'adam.second': adam.secondMoments }),
  };
  const tensors = new Map<string, StoredTensor>();
  for (const [prefix, vector] of Object.entries(vectors)) {
    for (const { name, shape, offset, size } of parameterLayout(config).tensors) {
      const values = vector.subarray(offset, offset + size);
      tensors.set(`${prefix}.${name}`, { dtype: 'F32', shape, values });
    }
  }
  tensors.set('client_state', { dtype: 'U8', shape: [clientState.length], values: clientState });
  const metadata = {
    format: formatName,
    config: JSON.stringify(config),
    step: String(adam?.step ?? 0),
    weight_version: String(checkpoint.weightVersion),
    random: JSON.stringify(checkpoint.random),
  };
  return { metadata, tensors };
}

function fromTensorFile(file: TensorFile, path: string): ModelCheckpoint {
  const metadata = parseMetadata(file, path);
  const { config } = metadata;
  const clientState = file.tensors.get('client_state');
  const state = {
    config,
    parameters: readVector(file, 'model', { config, path }),
    weightVersion: metadata.weightVersion,
    random: metadata.random,
    clientState: clientState?.dtype === 'U8' ? clientState.values : new Uint8Array(),
  };
  if (!file.tensors.has('adam.first.embedding')) return state;
  const adam = {
    firstMoments: readVector(file, 'adam.first', { config, path }),
    secondMoments: readVector(file, 'adam.second', { config, path }),
    step: metadata.step,
  };
  return { ...state, adam };
}

function parseMetadata(
  file: TensorFile,
  path: string,
): { config: ModelConfig; random: RandomState; step: number; weightVersion: number } {
  try {
    const metadata = metadataSchema.parse(file.metadata);
    return {
      config: configSchema.parse(JSON.parse(metadata.config)),
      random: z.tuple([word, word, word, word]).parse(JSON.parse(metadata.random)),
      step: metadata.step,
      weightVersion: metadata.weight_version,
    };
  } catch (cause) {
    throw new CheckpointFormatError(path, `its metadata is not that of ${formatName}`, cause);
  }
}

function readVector(
  file: TensorFile,
  prefix: string,
  { config, path }: { readonly config: ModelConfig; readonly path: string },
): Float32Array {
  const layout = parameterLayout(config);
  const vector = new Float32Array(layout.size);
  for (const { name, offset, size } of layout.tensors) {
    const tensor = file.tensors.get(`${prefix}.${name}`);
    if (tensor?.dtype !== 'F32' || tensor.values.length !== size) {
      throw new CheckpointFormatError(path, `the tensor ${prefix}.${name} is missing or has another size`);
    }
    vector.set(tensor.values, offset);
  }
  return vector;
}
