import { mkdir, readFile } from 'node:fs/promises';
import { NotFoundError } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import type { EngineCheckpoint } from '@agentlightning/runtime';
import { CheckpointFiles, writeFileAtomically } from '@agentlightning/runtime/internal/serving';
import * as z from 'zod';

const factsSchema: z.ZodType<CheckpointFacts> = z.object({
  weights: z.string(),
  baseModel: z.string(),
  rank: z.int(),
  step: z.int(),
  policyVersion: z.int(),
  createdAtMs: z.number(),
  clientState: z.string(),
});

/** What is kept here of a checkpoint; its weights are on the server. */
export interface CheckpointFacts {
  /** The server's URI of the weights and the optimizer. */
  readonly weights: string;
  readonly baseModel: string;
  readonly rank: number;
  readonly step: number;
  readonly policyVersion: number;
  /** Unix milliseconds. */
  readonly createdAtMs: number;
  /** In Base64. */
  readonly clientState: string;
}

/** The checkpoints of one model: a small file for each. */
export class CheckpointFolder {
  readonly #files: CheckpointFiles;

  constructor(root: string, modelId: string) {
    this.#files = new CheckpointFiles(root, modelId, '.json');
  }

  /** What is kept of a checkpoint of any model. @throws AgentLightningError NOT_FOUND */
  static async readAny(root: string, uri: string): Promise<CheckpointFacts> {
    const modelId = uri.split('/')[0] ?? '';
    if (!/^[A-Za-z0-9_-]{1,255}$/.test(modelId)) throw new NotFoundError('Checkpoint', uri);
    return await new CheckpointFolder(root, modelId).facts(uri);
  }

  /** @throws AgentLightningError RUNTIME_REJECTED */
  assertName(name: string): void {
    this.#files.fileOf(name);
  }

  /** Writes a checkpoint atomically, over an older one of the same name. */
  async write(name: string, facts: CheckpointFacts): Promise<EngineCheckpoint> {
    await mkdir(this.#files.folder, { recursive: true });
    await writeFileAtomically(this.#files.fileOf(name), Buffer.from(JSON.stringify(facts)));
    return this.#describe(name, facts);
  }

  /** What is kept of a checkpoint. @throws AgentLightningError NOT_FOUND */
  async facts(uri: string): Promise<CheckpointFacts> {
    return await this.#files.read(uri, () => this.#read(this.#files.nameOf(uri)));
  }

  /** A checkpoint. @throws AgentLightningError NOT_FOUND */
  async checkpoint(uri: string): Promise<EngineCheckpoint> {
    return this.#describe(this.#files.nameOf(uri), await this.facts(uri));
  }

  /** All checkpoints, newest first. */
  async list(): Promise<readonly EngineCheckpoint[]> {
    return await this.#files.list(async (name) => this.#describe(name, await this.#read(name)));
  }

  /** @throws AgentLightningError NOT_FOUND */
  async delete(uri: string): Promise<void> {
    await this.#files.delete(uri);
  }

  #describe(name: string, facts: CheckpointFacts): EngineCheckpoint {
    const clientState = new Uint8Array(Buffer.from(facts.clientState, 'base64'));
    const { step, policyVersion, createdAtMs } = facts;
    const sizeBytes = clientState.byteLength;
    return { uri: this.#files.uriOf(name), name, step, policyVersion, sizeBytes, clientState, createdAtMs };
  }

  async #read(name: string): Promise<CheckpointFacts> {
    const value: unknown = JSON.parse(await readFile(this.#files.fileOf(name), 'utf8'));
    return parse(factsSchema, value, `the checkpoint ${name}`);
  }
}
