import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NotFoundError } from '@agentlightning/core';
import type { EngineCheckpoint } from '../../src/index.ts';
import { type BagState, stateFromJson, stateToJson } from './bag-state.ts';

/** The content of a file. */
interface SavedBag {
  readonly checkpoint: Omit<EngineCheckpoint, 'clientState'>;
  readonly clientState: string;
  readonly state: Parameters<typeof stateFromJson>[0];
}

/** Checkpoints of one model as JSON files in a directory. */
export class BagCheckpoints {
  readonly #directory: string;
  readonly #modelId: string;

  constructor(directory: string, modelId: string) {
    this.#directory = join(directory, modelId);
    this.#modelId = modelId;
  }

  /** Writes a temporary file, then renames it: atomic. */
  async save(name: string, state: BagState, clientState: Uint8Array): Promise<EngineCheckpoint> {
    await mkdir(this.#directory, { recursive: true });
    const stateText = JSON.stringify(stateToJson(state));
    const checkpoint = {
      uri: `bag://${this.#modelId}/${name}`,
      name,
      step: state.step,
      policyVersion: state.policyVersion,
      sizeBytes: stateText.length,
      createdAtMs: performance.timeOrigin + performance.now(),
    };
    const head = JSON.stringify({ checkpoint, clientState: Buffer.from(clientState).toString('base64') });
    const path = this.#path(name);
    await writeFile(`${path}.tmp`, `${head.slice(0, -1)},"state":${stateText}}`);
    await rename(`${path}.tmp`, path);
    return { ...checkpoint, clientState };
  }

  /** Every checkpoint, newest first. */
  async list(): Promise<readonly EngineCheckpoint[]> {
    const files = await readdir(this.#directory).catch(() => []);
    const names = files.filter((file) => file.endsWith('.json'));
    const all = await Promise.all(names.map((file) => this.#read(join(this.#directory, file))));
    return all.map(toCheckpoint).sort((a, b) => b.createdAtMs - a.createdAtMs);
  }

  /** One checkpoint with its state. */
  async load(uri: string): Promise<{ checkpoint: EngineCheckpoint; state: BagState }> {
    const saved = await this.#read(this.#pathOf(uri)).catch(() => {
      throw new NotFoundError('Checkpoint', uri);
    });
    return { checkpoint: toCheckpoint(saved), state: stateFromJson(saved.state) };
  }

  async delete(uri: string): Promise<void> {
    await rm(this.#pathOf(uri)).catch(() => {
      throw new NotFoundError('Checkpoint', uri);
    });
  }

  #pathOf(uri: string): string {
    const prefix = `bag://${this.#modelId}/`;
    const name = uri.startsWith(prefix) ? uri.slice(prefix.length) : '';
    if (!/^[A-Za-z0-9_-]+$/.test(name)) throw new NotFoundError('Checkpoint', uri);
    return this.#path(name);
  }

  #path(name: string): string {
    return join(this.#directory, `${name}.json`);
  }

  async #read(path: string): Promise<SavedBag> {
    const saved: SavedBag = JSON.parse(await readFile(path, 'utf8'));
    return saved;
  }
}

function toCheckpoint({ checkpoint, clientState }: SavedBag): EngineCheckpoint {
  return { ...checkpoint, clientState: new Uint8Array(Buffer.from(clientState, 'base64')) };
}
