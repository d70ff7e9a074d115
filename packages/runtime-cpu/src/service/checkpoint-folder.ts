import { mkdir, stat } from 'node:fs/promises';
import type { EngineCheckpoint } from '@agentlightning/runtime';
import { CheckpointFiles } from '@agentlightning/runtime/internal/serving';
import { markCheckpointFolder } from '../checkpoint/checkpoint-marker.ts';
import { readCheckpoint } from '../checkpoint/model-checkpoint.ts';

/** The content of a checkpoint in addition to the weights. */
export interface CheckpointFacts {
  readonly step: number;
  readonly weightVersion: number;
  readonly clientState: Uint8Array;
}

/** The checkpoints of one model, with their weights. */
export class CheckpointFolder {
  readonly #files: CheckpointFiles;

  constructor(root: string, modelId: string) {
    this.#files = new CheckpointFiles(root, modelId, '.safetensors');
  }

  /** The file of a new checkpoint; creates and marks the folder. */
  async fileOf(name: string): Promise<string> {
    const file = this.#files.fileOf(name);
    await mkdir(this.#files.folder, { recursive: true });
    await markCheckpointFolder(this.#files.folder);
    return file;
  }

  /** The file of a URI issued by this model. */
  fileOfUri(uri: string): string {
    return this.#files.fileOfUri(uri);
  }

  /** The content stored under a URI. */
  async read(uri: string): Promise<EngineCheckpoint> {
    return await this.#files.read(uri, () => this.#readName(this.#files.nameOf(uri)));
  }

  /** A checkpoint as reported by the contract. */
  async describe(name: string, { step, weightVersion, clientState }: CheckpointFacts): Promise<EngineCheckpoint> {
    const { size, mtimeMs } = await stat(this.#files.fileOf(name));
    return {
      uri: this.#files.uriOf(name),
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
    return await this.#files.list((name) => this.#readName(name));
  }

  async delete(uri: string): Promise<void> {
    await this.#files.delete(uri);
  }

  async #readName(name: string): Promise<EngineCheckpoint> {
    const { adam, weightVersion, clientState } = await readCheckpoint(this.#files.fileOf(name));
    return await this.describe(name, { step: adam?.step ?? 0, weightVersion, clientState });
  }
}
