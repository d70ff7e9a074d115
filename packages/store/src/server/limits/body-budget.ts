import { AgentLightningError } from '@agentlightning/core';

const mebibyte = 2 ** 20;

/** Bytes of request bodies in memory. */
export interface BodyLimits {
  /** Of all projects. */
  readonly total: number;
  readonly project: number;
  readonly attempt: number;
}

const defaults: BodyLimits = { total: 512 * mebibyte, project: 128 * mebibyte, attempt: 32 * mebibyte };

/** The sender of a body. */
export interface BodySender {
  readonly project: string;
  /** Null for the holder of a key. */
  readonly attemptId: string | null;
}

/** Limits the bytes of request bodies that are in memory at a time: in all, by project and by attempt. */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #used = new Map<string, number>();

  constructor(limits: BodyLimits = defaults) {
    this.#limits = limits;
  }

  /**
   * Reserves the bytes of a body.
   *
   * @returns the function that releases them
   * @throws AgentLightningError RESOURCE_EXHAUSTED when too many are in use; a body is always admitted when there is no other
   */
  reserve({ project, attemptId }: BodySender, bytes: number): () => void {
    const { total, project: ofProject, attempt } = this.#limits;
    const shares: [name: string, limit: number][] = [
      ['all projects', total],
      [`project ${project}`, ofProject],
    ];
    if (attemptId !== null) shares.push([`attempt ${attemptId} of project ${project}`, attempt]);
    for (const [name, limit] of shares) {
      const used = this.#used.get(name) ?? 0;
      if (used > 0 && used + bytes > limit) throw exhausted(name, { used, limit });
    }
    for (const [name] of shares) this.#add(name, bytes);
    return () => {
      for (const [name] of shares) this.#add(name, -bytes);
    };
  }

  #add(name: string, bytes: number): void {
    const used = (this.#used.get(name) ?? 0) + bytes;
    if (used === 0) this.#used.delete(name);
    else this.#used.set(name, used);
  }
}

function exhausted(
  name: string,
  { used, limit }: { readonly used: number; readonly limit: number },
): AgentLightningError {
  return new AgentLightningError({
    code: 'RESOURCE_EXHAUSTED',
    message: `Request bodies of ${name} use ${used} of ${limit} bytes`,
    remedy: 'Send fewer requests at a time; retry later.',
    details: { limit },
  });
}
