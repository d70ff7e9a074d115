/**
 * Runners in Kubernetes. A Deployment keeps pods while the queue is empty, and ends running agents when it is scaled down; a
 * Job for each batch of rollouts does neither. Names of Jobs are numbered from the highest existing one, so two controllers
 * create the same names and the API refuses the second (409). `backoffLimit` is 0: the lease of a runner returns its rollouts,
 * and the controller waits after failures.
 *
 * A list of some hundred Jobs by label is cheap and consistent, and needs no handling of expired watches (410).
 * `@kubernetes/client-node` has 68 packages and 83 MB for the three requests that are made here. KEDA's ScaledJob needs its
 * operator, and a scaler for the store.
 *
 * @module
 */
import type { Clock, Store } from '@agentlightning/core';
import { isTransient } from '@agentlightning/core/internal';
import type { pino } from 'pino';
import { type JobPlanOptions, planJobs, type QueueLength } from './job-plan.ts';
import { type JobSettings, type JobTemplate, jobOf } from './job-template.ts';
import type { KubernetesClient } from './kubernetes-client.ts';

/** Options of a {@link JobController}. */
export interface JobControllerOptions extends JobPlanOptions, JobSettings {
  readonly store: Pick<Store, 'queryRollouts'>;
  readonly kubernetes: KubernetesClient;
  readonly template: JobTemplate;
  /** Only rollouts of this run; null for any. */
  readonly runId: string | null;
  /** Interval at which queue and Jobs are read, in milliseconds. */
  readonly intervalMs: number;
  readonly log: pino.Logger;
  readonly clock: Clock;
}

/** Creates a Job of runners for each batch of rollouts in the queue. The Jobs of the cluster are its only state. */
export class JobController {
  readonly #options: JobControllerOptions;
  #reportedFailures = 0;

  constructor(options: JobControllerOptions) {
    this.#options = options;
  }

  /**
   * Creates Jobs until the signal aborts, then deletes those that are active: their runners return rollouts to the queue.
   *
   * @throws AgentLightningError when the API or the store rejects a request. Failures that pass are retried
   */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs, log, clock } = this.#options;
    while (!signal.aborted) {
      await this.reconcile().catch((error: unknown) => {
        if (!isTransient(error)) throw error;
        log.warn({ err: error }, 'not reconciled; repeated');
      });
      await clock.sleep(intervalMs, signal).catch(() => undefined);
    }
    await this.#deleteJobs();
  }

  /** Creates the Jobs that are missing now. */
  async reconcile(): Promise<void> {
    const { kubernetes, template, log, clock } = this.#options;
    const jobs = await kubernetes.listJobs(this.#options.name);
    const queue = await this.#queue();
    const plan = planJobs(this.#options, { jobs, queue, nowMs: clock.now() });
    this.#reportFailures(plan.failures, plan.backoffUntilMs);
    for (const name of plan.create) {
      const isNew = await kubernetes.createJob(jobOf(template, name, this.#options));
      log.info({ job: name, ...queue }, isNew ? 'Job is created' : 'Job exists: created by another controller');
    }
  }

  #reportFailures(failures: number, backoffUntilMs: number | null): void {
    const { log } = this.#options;
    if (failures > this.#reportedFailures) {
      const until = new Date(backoffUntilMs ?? 0).toISOString();
      log.warn({ failures, until }, 'Jobs have failed; no new ones until then');
    }
    this.#reportedFailures = failures;
  }

  async #queue(): Promise<QueueLength> {
    const { store, runId } = this.#options;
    const filter = { limit: 1, ...(runId === null ? {} : { runId }) };
    const queued = ['queuing', 'requeuing'] as const;
    const [waiting, unfinished] = await Promise.all([
      store.queryRollouts({ ...filter, statusIn: queued }),
      // In one query: a rollout that is claimed between two would count twice.
      store.queryRollouts({ ...filter, statusIn: [...queued, 'preparing', 'running'] }),
    ]);
    return { queued: waiting.total, running: Math.max(0, unfinished.total - waiting.total) };
  }

  async #deleteJobs(): Promise<void> {
    const { kubernetes, name: owner, log } = this.#options;
    for (const { name, state } of await kubernetes.listJobs(owner)) {
      if (state !== 'active') continue;
      await kubernetes.deleteJob(name);
      log.info({ job: name }, 'Job is deleted');
    }
  }
}
