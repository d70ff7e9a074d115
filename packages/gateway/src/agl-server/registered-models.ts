import type { Upstream } from '../gateway-options.ts';
import type { ServerRun } from './server-run.ts';
import type { WireModel } from './wire.ts';

/** Where model calls go: the gateway's own upstreams, by id. */
export interface UpstreamRegister {
  /** Adds one, or takes it in the place of the one with the same id. @throws AgentLightningError CONFIG for no URL */
  add(upstream: Upstream & { readonly id: string }): unknown;
  remove(id: string): boolean;
}

/** The model servers that a trainer of 1.0 registered. */
export class RegisteredModels {
  readonly #run: ServerRun;
  readonly #upstreams: UpstreamRegister;
  readonly #models: Map<string, WireModel> = new Map();

  constructor(run: ServerRun, upstreams: UpstreamRegister) {
    this.#run = run;
    this.#upstreams = upstreams;
  }

  /** Takes up what was registered before a restart. */
  async restore(): Promise<void> {
    const { models } = await this.#run.read();
    this.#use(models);
  }

  /** Adds servers; one that is there, by model and endpoint, is replaced. @throws AgentLightningError CONFIG for no URL */
  async add(models: readonly WireModel[]): Promise<void> {
    this.#use(models);
    await this.#write();
  }

  /** Takes all of them away. */
  async clear(): Promise<void> {
    for (const id of this.#models.keys()) this.#upstreams.remove(id);
    this.#models.clear();
    await this.#write();
  }

  /** The version that the servers of a model were registered with. */
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
