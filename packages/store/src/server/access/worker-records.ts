import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import { trainerWorkerPrefix, workerLeaseKey } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { SqlStore } from '../../sql-store.ts';
import { assertRight } from './access-control.ts';
import { bearerOf } from './bearer.ts';

/** The most runners whose keys are remembered. */
const maxOwners = 10_000;

/**
 * Limits keys with the role worker to the records of their runners: that of a trainer holds its run and can stop it, and that
 * of another runner returns its attempts to the queue.
 */
export class WorkerRecords {
  readonly #store: Pick<SqlStore, 'getWorker'>;
  /** The keys of role worker that last wrote the record of a runner. */
  readonly #owners = new Map<string, string>();

  constructor(store: Pick<SqlStore, 'getWorker'>) {
    this.#store = store;
  }

  /** @throws AgentLightningError PERMISSION_DENIED when the sender may not write the record of this worker */
  async assertMayWrite(context: Context, workerId: string, statistics: JsonObject | null | undefined): Promise<void> {
    const bearer = bearerOf(context);
    const mayWriteAny = (): void => assertRight(bearer, 'project:write', `write the record of worker ${workerId}`);
    if (workerId.startsWith(trainerWorkerPrefix)) mayWriteAny();
    if (bearer.kind !== 'key' || bearer.role !== 'worker') return;
    const known = await this.#store.getWorker(workerId);
    // Runners of other versions and languages have no kind.
    for (const { kind = 'runner' } of [statistics ?? {}, known?.heartbeatStats ?? {}]) {
      if (kind !== 'runner') mayWriteAny();
    }
    const owner = this.#owners.get(workerId) ?? bearer.keyId;
    // The store deletes the records of runners that were lost; those with a lease of 0 have left.
    const isTaken = known !== null && known.heartbeatStats?.[workerLeaseKey] !== 0;
    if (owner !== bearer.keyId && isTaken) throw otherKey(workerId);
    this.#owners.delete(workerId);
    this.#owners.set(workerId, bearer.keyId);
    const [oldest] = this.#owners.keys();
    if (this.#owners.size > maxOwners && oldest !== undefined) this.#owners.delete(oldest);
  }
}

function otherKey(workerId: string): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `The record of runner ${workerId} is written with another key`,
    remedy: 'Give each runner a separate id.',
    details: { workerId },
  });
}
