import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { NotFoundError } from '@agentlightning/core';
import type { EngineCheckpoint } from '@agentlightning/runtime';
import { readCheckpoint } from '../checkpoint/model-checkpoint.ts';
import { RejectedRequestError } from '../errors/rejected-request-error.ts';

const extension = '.safetensors';
const safeName = /^[A-Za-z0-9_-]{1,255}$/;

/** The checkpoints of one model: a folder of its own, a file for each. */
export class CheckpointFolder {
  readonly #modelId: string;
  readonly #folder: string;

  constructor(root: string, modelId: string) {
    this.#modelId = modelId;
    this.#folder = path.join(root, modelId);
  }

  /** The file of a checkpoint that is about to be saved; makes the folder. */
  async fileOf(name: string): Promise<string> {
    if (!safeName.test(name)) {
      throw new RejectedRequestError(`"${name}" cannot be the name of a checkpoint; use letters, digits, - and _`);
    }
    await mkdir(this.#folder, { recursive: true });
    return path.join(this.#folder, name + extension);
  }

  /** The file behind a URI that this model gave out. */
  fileOfUri(uri: string): string {
    const name = this.#nameOf(uri);
    if (name === null) throw new NotFoundError('Checkpoint', uri);
    return path.join(this.#folder, name + extension);
  }

  /** What is saved under a name. */
  async read(name: string): Promise<EngineCheckpoint> {
    const file = path.join(this.#folder, name + extension);
    const { adam, weightVersion, clientState } = await readCheckpoint(file);
    const { size, mtimeMs } = await stat(file);
    return {
      uri: `${this.#modelId}/${name}`,
      name,
      step: adam?.step ?? 0,
      policyVersion: weightVersion,
      sizeBytes: size,
      clientState,
      createdAtMs: mtimeMs,
    };
  }

  /** All that is saved, newest first. */
  async list(): Promise<readonly EngineCheckpoint[]> {
    const files = await readdir(this.#folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const names = files.filter((file) => file.endsWith(extension)).map((file) => path.basename(file, extension));
    const checkpoints = await Promise.all(names.map((name) => this.read(name)));
    return checkpoints.sort((left, right) => right.createdAtMs - left.createdAtMs || right.step - left.step);
  }

  async delete(uri: string): Promise<void> {
    try {
      await rm(this.fileOfUri(uri));
    } catch (error) {
      throw isMissing(error) ? new NotFoundError('Checkpoint', uri) : error;
    }
  }

  #nameOf(uri: string): string | null {
    const [modelId, name, ...rest] = uri.split('/');
    const isOurs = modelId === this.#modelId && rest.length === 0 && name !== undefined && safeName.test(name);
    return isOurs ? name : null;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
