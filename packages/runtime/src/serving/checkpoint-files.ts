import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import type { EngineCheckpoint } from '../server/engine.ts';

/** Shorter than the contract allows: file names have at most 255 characters, including a temporary suffix. */
const safeName = /^[A-Za-z0-9_-]{1,200}$/;

/** The checkpoints of one model: a folder with a file for each, which only its own URIs name. */
export class CheckpointFiles {
  /** The folder, which may be missing. */
  readonly folder: string;
  readonly #modelId: string;
  readonly #extension: string;

  /** @param extension - of the files: `.json` */
  constructor(root: string, modelId: string, extension: string) {
    this.folder = path.join(root, modelId);
    this.#modelId = modelId;
    this.#extension = extension;
  }

  /** The file of a new checkpoint. @throws AgentLightningError RUNTIME_REJECTED for an invalid name */
  fileOf(name: string): string {
    if (safeName.test(name)) return this.#path(name);
    throw new AgentLightningError({
      code: 'RUNTIME_REJECTED',
      message: `"${name}" is not a valid checkpoint name; use 1 to 200 letters, digits, - and _`,
      details: { field: 'name' },
    });
  }

  /** The URI of a checkpoint. */
  uriOf(name: string): string {
    return `${this.#modelId}/${name}`;
  }

  /** The name of a checkpoint of this model. @throws AgentLightningError NOT_FOUND for another URI */
  nameOf(uri: string): string {
    const [modelId, name, ...rest] = uri.split('/');
    if (modelId === this.#modelId && rest.length === 0 && name !== undefined && safeName.test(name)) return name;
    throw new NotFoundError('Checkpoint', uri);
  }

  /** The file of a checkpoint of this model. @throws AgentLightningError NOT_FOUND for another URI */
  fileOfUri(uri: string): string {
    return this.#path(this.nameOf(uri));
  }

  /** All checkpoints, newest first. They are read one after the other: each is read completely. */
  async list(read: (name: string) => Promise<EngineCheckpoint>): Promise<readonly EngineCheckpoint[]> {
    const files = await readdir(this.folder).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const checkpoints: EngineCheckpoint[] = [];
    for (const file of files.filter((each) => each.endsWith(this.#extension))) {
      checkpoints.push(await read(path.basename(file, this.#extension)));
    }
    return checkpoints.sort((left, right) => right.createdAtMs - left.createdAtMs || right.step - left.step);
  }

  /** Reads a file of a checkpoint. @throws AgentLightningError NOT_FOUND with the URI when it is missing */
  async read<TContent>(uri: string, content: () => Promise<TContent>): Promise<TContent> {
    try {
      return await content();
    } catch (error) {
      throw isMissing(error) ? new NotFoundError('Checkpoint', uri) : error;
    }
  }

  /** @throws AgentLightningError NOT_FOUND */
  async delete(uri: string): Promise<void> {
    await this.read(uri, () => rm(this.fileOfUri(uri)));
  }

  #path(name: string): string {
    return path.join(this.folder, name + this.#extension);
  }
}

function isMissing(error: unknown): boolean {
  if (AgentLightningError.isInstance(error)) return error.code === 'NOT_FOUND';
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
