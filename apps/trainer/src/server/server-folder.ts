import { access } from 'node:fs/promises';
import path from 'node:path';
import { defaultProject } from '@agentlightning/core/protocol';
import { isRunId } from '../config/model-name.ts';

/** The keys of a server, from the environment. */
export interface ServerSecrets {
  /** The key of the server; null for the one in the data directory. */
  readonly serverKey: string | null;
  /** The key of runners, with the role worker; null for none. */
  readonly workerKey: string | null;
  /** Secrets that sign the tokens of attempts; null for the one in the data directory. */
  readonly tokenSecret: string | null;
  /** The keys of a configured runtime and of its model endpoint. */
  readonly runtimeKey: string | null;
  readonly inferenceKey: string | null;
}

/** The files in the data directory of a server. */
export class ServerFolder {
  readonly path: string;

  /** @param folder - an absolute path */
  constructor(folder: string) {
    this.path = folder;
  }

  /** The file with the key of the server. */
  get keyFile(): string {
    return path.join(this.path, 'server-key');
  }

  /** The log of a GPU runtime that the server has started. */
  get runtimeLogFile(): string {
    return path.join(this.path, 'runtime.log');
  }

  /** The store, unless another one is configured. */
  get storeUrl(): string {
    return `sqlite:${path.join(this.path, 'agl.db')}`;
  }

  /** The files of a project; those of the default project are not in a separate folder. */
  project(name: string): ServerFolder {
    return name === defaultProject ? this : new ServerFolder(path.join(this.path, 'projects', name));
  }

  /** The folder of uploaded data sets. */
  get dataSets(): string {
    return path.join(this.path, 'datasets');
  }

  /** The folder of a run. */
  run(runId: string): string {
    return path.join(this.path, 'runs', runId);
  }

  /** The request that a run was created with. */
  requestFile(runId: string): string {
    return path.join(this.run(runId), 'request.json');
  }

  /** Whether a run was created by a request to this server. */
  async hasRequest(runId: string): Promise<boolean> {
    if (!isRunId(runId)) return false;
    return await access(this.requestFile(runId)).then(
      () => true,
      () => false,
    );
  }

  /** The events of a run, one JSON object a line. */
  eventFile(runId: string): string {
    return path.join(this.run(runId), 'events.jsonl');
  }

  /** The output of the processes of a run. */
  logFile(runId: string): string {
    return path.join(this.run(runId), 'output.log');
  }
}
