import type { Upstream } from '../wire/gateway-options.ts';
import type { ServerRun } from './server-run.ts';
import type { WireModel } from './wire.ts';

/** The gateway's upstreams, by id. */
export interface UpstreamRegister {
  /** Adds an upstream, or replaces the one with the same id. @throws AgentLightningError CONFIG for an invalid URL */
  add(upstream: Upstream & { readonly id: string }): unknown;
  remove(id: string): boolean;
}

/** The model servers that a 1.0 trainer registered. */
export class RegisteredModels {
  readonly #run: ServerRun;
  readonly #upstreams: UpstreamRegister;
  readonly #models: Map<string, WireModel> = new Map();

  constructor(run: ServerRun, upstreams: UpstreamRegister) {
    this.#run = run;
    this.#upstreams = upstreams;
  }

  /** Restores registrations from before a restart. */
  async restore(): Promise<void> {
    const { models } = await this.#run.read();
    this.#use(models);
  }

  /** Adds servers; one with the same model and endpoint is replaced. @throws AgentLightningError CONFIG for an invalid URL */
  async add(models: readonly WireModel[]): Promise<void> {
    this.#use(models);
    await this.#write();
  }

  /** Removes all servers. */
  async clear(): Promise<void> {
    for (const id of this.#models.keys()) this.#upstreams.remove(id);
    this.#models.clear();
    await this.#write();
  }

  /** The policy version that the servers of a model were registered with. */
  versionOf(name: string): number | null {
    return [...this.#models.values()].find(({ model }) => model === name)?.version ?? null;
  }

  #use(models: readonly WireModel[]): void {
    for (const entry of models) {
      const id = `agl-server:${entry.model}@${entry.endpoint}`;
      this.#upstreams.add({ id, model: entry.model, baseUrl: entry.endpoint });
      this.#models.set(id, entry);
    }
  }

  async #write(): Promise<void> {
    await this.#run.change((state) => ({ ...state, models: [...this.#models.values()] }));
  }
}
