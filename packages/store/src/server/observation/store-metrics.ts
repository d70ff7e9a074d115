import type { RolloutStatus } from '@agentlightning/core';
import { type OperationalMetric, operationalMetrics } from '@agentlightning/core/internal';
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

/** The options of an instrument of the catalogue. */
function optionsOf<TMetric extends OperationalMetric>(
  { name, title, labels }: TMetric,
  registry: Registry,
): { name: string; help: string; labelNames: TMetric['labels']; registers: [Registry] } {
  return { name, help: title, labelNames: labels, registers: [registry] };
}

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
    this.#requests = new Histogram({
      ...optionsOf(storeRequests, registry),
      buckets: [...storeRequests.buckets],
    });
    this.#waits = new Histogram({ ...optionsOf(storeWaits, registry), buckets: [...storeWaits.buckets] });
    this.#claims = new Counter(optionsOf(operationalMetrics.storeClaims, registry));
    this.#enqueued = new Counter(optionsOf(operationalMetrics.storeEnqueued, registry));
    this.#spans = new Counter(optionsOf(operationalMetrics.storeSpans, registry));
    this.#spanBytes = new Counter(optionsOf(operationalMetrics.storeSpanBytes, registry));
    new Gauge({
      ...optionsOf(storeRollouts, registry),
      async collect() {
        for (const [status, count] of await countUnfinished()) this.set({ status }, count);
      },
    });
    new Gauge({
      ...optionsOf(storeOpenWaits, registry),
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
