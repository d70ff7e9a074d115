import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import type { EngineCheckpoint } from '@agentlightning/runtime';
import * as z from 'zod';

const safeName = /^[A-Za-z0-9_-]{1,200}$/;
const extension = '.json';

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

/** The checkpoints of one model: a folder with a small file for each. */
export class CheckpointFolder {
  readonly #modelId: string;
  readonly #folder: string;

  constructor(root: string, modelId: string) {
    this.#modelId = modelId;
    this.#folder = path.join(root, modelId);
  }

  /** The folder and the name of a checkpoint of any model. @throws AgentLightningError NOT_FOUND */
  static async readAny(root: string, uri: string): Promise<CheckpointFacts> {
    const modelId = uri.split('/')[0] ?? '';
    if (!/^[A-Za-z0-9_-]{1,255}$/.test(modelId)) throw new NotFoundError('Checkpoint', uri);
    return await new CheckpointFolder(root, modelId).facts(uri);
  }

  /** @throws AgentLightningError RUNTIME_REJECTED */
  assertName(name: string): void {
    if (safeName.test(name)) return;
    throw new AgentLightningError({
      code: 'RUNTIME_REJECTED',
      message: `"${name}" is not a valid checkpoint name; use 1 to 200 letters, digits, - and _`,
      details: { field: 'name' },
    });
  }

  /** Writes a checkpoint atomically, over an older one of the same name. */
  async write(name: string, facts: CheckpointFacts): Promise<EngineCheckpoint> {
    const file = this.#fileOf(name);
    await mkdir(this.#folder, { recursive: true });
    const text = JSON.stringify(facts);
    await writeFile(`${file}.tmp`, text, { flush: true });
    await rename(`${file}.tmp`, file);
    return this.#describe(name, facts);
  }

  /** What is kept of a checkpoint. @throws AgentLightningError NOT_FOUND */
  async facts(uri: string): Promise<CheckpointFacts> {
    return await this.#read(this.#nameOf(uri), uri);
  }

  /** A checkpoint. @throws AgentLightningError NOT_FOUND */
  async checkpoint(uri: string): Promise<EngineCheckpoint> {
    return this.#describe(this.#nameOf(uri), await this.facts(uri));
  }

  /** All checkpoints, newest first. */
  async list(): Promise<readonly EngineCheckpoint[]> {
    const files = await readdir(this.#folder).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const names = files.filter((file) => file.endsWith(extension)).map((file) => path.basename(file, extension));
    const checkpoints = await Promise.all(
      names.map(async (name) => this.#describe(name, await this.#read(name, name))),
    );
    return checkpoints.sort((left, right) => right.createdAtMs - left.createdAtMs || right.step - left.step);
  }

  /** @throws AgentLightningError NOT_FOUND */
  async delete(uri: string): Promise<void> {
    await this.facts(uri);
    await rm(this.#fileOf(this.#nameOf(uri)));
  }

  #describe(name: string, facts: CheckpointFacts): EngineCheckpoint {
    const clientState = new Uint8Array(Buffer.from(facts.clientState, 'base64'));
    const { step, policyVersion, createdAtMs } = facts;
    const sizeBytes = clientState.byteLength;
    return { uri: `${this.#modelId}/${name}`, name, step, policyVersion, sizeBytes, clientState, createdAtMs };
  }

  async #read(name: string, uri: string): Promise<CheckpointFacts> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#fileOf(name), 'utf8'));
      return parse(factsSchema, value, `the checkpoint ${name}`);
    } catch (error) {
      throw isMissing(error) ? new NotFoundError('Checkpoint', uri) : error;
    }
  }

  #fileOf(name: string): string {
    return path.join(this.#folder, name + extension);
  }

  #nameOf(uri: string): string {
    const [modelId, name, ...rest] = uri.split('/');
    if (modelId === this.#modelId && rest.length === 0 && name !== undefined && safeName.test(name)) return name;
    throw new NotFoundError('Checkpoint', uri);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
