import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import type { EngineCheckpoint } from '@agentlightning/runtime';
import { markCheckpointFolder } from '../checkpoint/checkpoint-marker.ts';
import { readCheckpoint } from '../checkpoint/model-checkpoint.ts';
import { RejectedRequestError } from '../errors/rejected-request-error.ts';

const extension = '.safetensors';
/** Shorter than the contract allows: file names have at most 255 characters, including a temporary suffix. */
const safeName = /^[A-Za-z0-9_-]{1,200}$/;

/** The content of a checkpoint in addition to the weights. */
export interface CheckpointFacts {
  readonly step: number;
  readonly weightVersion: number;
  readonly clientState: Uint8Array;
}

/** The checkpoints of one model: a folder with a file for each. */
export class CheckpointFolder {
  readonly #modelId: string;
  readonly #folder: string;

  constructor(root: string, modelId: string) {
    this.#modelId = modelId;
    this.#folder = path.join(root, modelId);
  }

  /** The file of a new checkpoint; creates and marks the folder. */
  async fileOf(name: string): Promise<string> {
    if (!safeName.test(name)) {
      throw new RejectedRequestError(
        `"${name}" is not a valid checkpoint name; use 1 to 200 letters, digits, - and _`,
        {
          field: 'name',
        },
      );
    }
    await mkdir(this.#folder, { recursive: true });
    await markCheckpointFolder(this.#folder);
    return this.#path(name);
  }

  /** The file of a URI issued by this model. */
  fileOfUri(uri: string): string {
    return this.#path(this.#nameOf(uri));
  }

  /** The content stored under a URI. */
  async read(uri: string): Promise<EngineCheckpoint> {
    const name = this.#nameOf(uri);
    try {
      return await this.#readName(name);
    } catch (error) {
      throw isMissing(error) ? new NotFoundError('Checkpoint', uri) : error;
    }
  }

  /** A checkpoint as reported by the contract. */
  async describe(name: string, { step, weightVersion, clientState }: CheckpointFacts): Promise<EngineCheckpoint> {
    const { size, mtimeMs } = await stat(this.#path(name));
    return {
      uri: `${this.#modelId}/${name}`,
      name,
      step,
      policyVersion: weightVersion,
      sizeBytes: size,
      clientState,
      createdAtMs: mtimeMs,
    };
  }

  /** All checkpoints, newest first. */
  async list(): Promise<readonly EngineCheckpoint[]> {
    const files = await readdir(this.#folder).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const checkpoints: EngineCheckpoint[] = [];
    // Sequentially: each is read completely.
    for (const file of files.filter((each) => each.endsWith(extension))) {
      checkpoints.push(await this.#readName(path.basename(file, extension)));
    }
    return checkpoints.sort((left, right) => right.createdAtMs - left.createdAtMs || right.step - left.step);
  }

  async delete(uri: string): Promise<void> {
    try {
      await rm(this.fileOfUri(uri));
    } catch (error) {
      throw isMissing(error) ? new NotFoundError('Checkpoint', uri) : error;
    }
  }

  async #readName(name: string): Promise<EngineCheckpoint> {
    const { adam, weightVersion, clientState } = await readCheckpoint(this.#path(name));
    return await this.describe(name, { step: adam?.step ?? 0, weightVersion, clientState });
  }

  #path(name: string): string {
    return path.join(this.#folder, name + extension);
  }

  #nameOf(uri: string): string {
    const [modelId, name, ...rest] = uri.split('/');
    const isOurs = modelId === this.#modelId && rest.length === 0 && name !== undefined && safeName.test(name);
    if (!isOurs) throw new NotFoundError('Checkpoint', uri);
    return name;
  }
}

function isMissing(error: unknown): boolean {
  if (AgentLightningError.isInstance(error)) return error.code === 'NOT_FOUND';
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
