import { createHash } from 'node:crypto';
import type { Store } from '@agentlightning/core';
import type { JudgedPrompts, PromptSet } from '@agentlightning/core/algorithm';
import type { NamedResources, ProxyLlmResource } from '@agentlightning/core/store';

/** Short digest of a set of prompts. */
export function promptsDigest(prompts: PromptSet): string {
  const entries = Object.entries(prompts)
    .map(([name, { template, engine }]) => [name, engine, template])
    .sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 12);
}

/** Stores prompts as resources, for rollouts and for users. */
export class PromptResources {
  readonly #store: Store;
  readonly #runId: string;
  readonly #model: ProxyLlmResource;
  readonly #judges: NamedResources;
  readonly #forRollouts: Map<string, Promise<string>> = new Map();
  readonly #versions: Set<string> = new Set();
  #best: string | null = null;

  /**
   * @param options.model - the model behind the gateway, at its current address
   * @param options.judges - the prompts of the judges of the reward
   */
  constructor(options: {
    readonly store: Store;
    readonly runId: string;
    readonly model: ProxyLlmResource;
    readonly judges: NamedResources;
  }) {
    this.#store = options.store;
    this.#runId = options.runId;
    this.#model = options.model;
    this.#judges = options.judges;
  }

  /** The id of a snapshot with these prompts and the model; equal prompts share one. */
  forRollouts(prompts: PromptSet): Promise<string> {
    const digest = promptsDigest(prompts);
    const known = this.#forRollouts.get(digest);
    if (known !== undefined) return known;
    const added = this.#store.addResources({ ...this.#judges, ...prompts, [this.#modelName(prompts)]: this.#model });
    const id = added.then(({ resourcesId }) => resourcesId);
    this.#forRollouts.set(digest, id);
    return id;
  }

  /**
   * Publishes every evaluated version as a separate resource `<run>-<version>`, and the best as `<run>-best`, whose version
   * increases with every better one. Existing resources are unchanged.
   */
  async publish(versions: readonly JudgedPrompts[], best: JudgedPrompts): Promise<void> {
    if (this.#versions.size === 0) await this.#readPublished();
    for (const { version, prompts } of versions) {
      const id = `${this.#runId}-${version}`;
      if (this.#versions.has(id)) continue;
      await this.#store.updateResources(id, prompts);
      this.#versions.add(id);
    }
    const digest = promptsDigest(best.prompts);
    if (this.#best === digest) return;
    await this.#store.updateResources(`${this.#runId}-best`, best.prompts);
    this.#best = digest;
  }

  /** Resources published by an earlier process. */
  async #readPublished(): Promise<void> {
    const { items } = await this.#store.queryResources({ resourcesIdContains: `${this.#runId}-` });
    for (const { resourcesId, resources } of items) {
      this.#versions.add(resourcesId);
      if (resourcesId === `${this.#runId}-best`) this.#best = promptsDigest(resources as PromptSet);
    }
  }

  /** `policy`, as in training runs, unless a prompt has this name. */
  #modelName(prompts: PromptSet): string {
    return Object.hasOwn(prompts, 'policy') ? 'agentlightning-model' : 'policy';
  }
}
