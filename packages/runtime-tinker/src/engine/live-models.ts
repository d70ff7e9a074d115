import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { parse } from '@agentlightning/core/internal';
import * as z from 'zod';

const fileSchema = z.object({ serverUrl: z.string(), host: z.string(), pid: z.int(), models: z.array(z.string()) });

/**
 * The models that a session of this process has on a server, in a file: what a killed process leaves there takes the place of others until its session
 * has ended, which is minutes.
 */
export class LiveModels {
  readonly #folder: string;
  readonly #file: string;
  readonly #serverUrl: string;

  constructor(checkpointDir: string, serverUrl: string) {
    this.#folder = path.join(checkpointDir, '.live-models');
    this.#file = path.join(this.#folder, `${randomUUID()}.json`);
    this.#serverUrl = serverUrl;
  }

  /** Writes the models of this session; without any, no file is left. */
  write(models: readonly string[]): void {
    if (models.length === 0) {
      rmSync(this.#file, { force: true });
      return;
    }
    mkdirSync(this.#folder, { recursive: true });
    // Renamed when it is complete: a process may be killed while it writes.
    const partial = `${this.#file}.partial`;
    writeFileSync(partial, JSON.stringify({ serverUrl: this.#serverUrl, host: hostname(), pid: process.pid, models }));
    renameSync(partial, this.#file);
  }

  /** Forgets the processes of this machine that have ended, and returns their models. */
  takeLeft(): readonly string[] {
    mkdirSync(this.#folder, { recursive: true });
    const names = readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
    return names.flatMap((name) => {
      const file = path.join(this.#folder, name);
      const given: unknown = JSON.parse(readFileSync(file, 'utf8'));
      const { serverUrl, host, pid, models } = parse(fileSchema, given, `the file ${file}`);
      const isLeft = serverUrl === this.#serverUrl && host === hostname() && !isRunning(pid);
      if (!isLeft) return [];
      rmSync(file);
      return models;
    });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
