import type { RolloutStatus } from '@agentlightning/core';
import { instrumentOptions, operationalMetrics } from '@agentlightning/core/metrics';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Values that are collected on each scrape. */
export interface StoreGauges {
  /** Number of rollouts per non-terminal status. */
  countUnfinished(): Promise<ReadonlyMap<RolloutStatus, number>>;
  /** Number of waiting requests by kind. */
  countWaits(): ReadonlyMap<string, number>;
}

/** The outcome of a request. */
export interface EndedRequest {
  readonly method: string;
  /** The route pattern; null when no route matches. */
  readonly path: string | null;
  /** Null when the client disconnected before a response. */
  readonly status: number | null;
  readonly isWait: boolean;
  readonly durationMs: number;
}

const verbs: readonly string[] = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'];
const { storeRequests, storeWaits, storeOpenWaits, storeRollouts } = operationalMetrics;

/** The Prometheus metrics of a server. Labels have low cardinality: no ids. */
export class StoreMetrics {
  readonly #registry: Registry;
  readonly #requests: Histogram<(typeof storeRequests.labels)[number]>;
  readonly #waits: Histogram<(typeof storeRequests.labels)[number]>;
  readonly #claims: Counter;
  readonly #enqueued: Counter;
  readonly #spans: Counter<'format'>;
  readonly #spanBytes: Counter<'format'>;

  constructor({ countUnfinished, countWaits }: StoreGauges, registry: Registry = new Registry()) {
    this.#registry = registry;
    const registers = [registry];
    this.#requests = new Histogram({ ...instrumentOptions(storeRequests), registers });
    this.#waits = new Histogram({ ...instrumentOptions(storeWaits), registers });
    this.#claims = new Counter({ ...instrumentOptions(operationalMetrics.storeClaims), registers });
    this.#enqueued = new Counter({ ...instrumentOptions(operationalMetrics.storeEnqueued), registers });
    this.#spans = new Counter({ ...instrumentOptions(operationalMetrics.storeSpans), registers });
    this.#spanBytes = new Counter({ ...instrumentOptions(operationalMetrics.storeSpanBytes), registers });
    new Gauge({
      ...instrumentOptions(storeRollouts),
      registers,
      async collect() {
        for (const [status, count] of await countUnfinished()) this.set({ status }, count);
      },
    });
    new Gauge({
      ...instrumentOptions(storeOpenWaits),
      registers,
      collect() {
        for (const [kind, count] of countWaits()) this.set({ kind }, count);
      },
    });
  }

  /** The content type of {@link text}. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in the Prometheus text format. */
  text(): Promise<string> {
    // Process metrics are collected only after the first scrape because they have a cost.
    const hasDefaults = this.#registry.getSingleMetric('process_cpu_user_seconds_total') !== undefined;
    if (!hasDefaults) collectDefaultMetrics({ register: this.#registry });
    return this.#registry.metrics();
  }

  requestEnded({ method, path, status, isWait, durationMs }: EndedRequest): void {
    const labels = {
      method: verbs.includes(method) ? method : 'other',
      route: path ?? 'none',
      status: status === null ? 'none' : String(status),
    };
    (isWait ? this.#waits : this.#requests).observe(labels, durationMs / 1000);
  }

  rolloutsClaimed(count: number): void {
    this.#claims.inc(count);
  }

  rolloutsEnqueued(count: number): void {
    this.#enqueued.inc(count);
  }

  /** `bytes` is the size of the request body. */
  spansRecorded(count: number, { format, bytes }: { readonly format: 'json' | 'otlp'; readonly bytes: number }): void {
    this.#spans.inc({ format }, count);
    this.#spanBytes.inc({ format }, bytes);
  }
}
