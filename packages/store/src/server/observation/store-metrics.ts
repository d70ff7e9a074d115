import type { RolloutStatus } from '@agentlightning/core';
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
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const waitBuckets = [0.01, 0.1, 1, 5, 10, 30, 60, 300];
const requestLabels = ['method', 'route', 'status'] as const;

/** The Prometheus metrics of a server. Labels have low cardinality: no ids. */
export class StoreMetrics {
  readonly #registry: Registry;
  readonly #requests: Histogram<(typeof requestLabels)[number]>;
  readonly #waits: Histogram<(typeof requestLabels)[number]>;
  readonly #claims: Counter;
  readonly #enqueued: Counter;
  readonly #spans: Counter<'format'>;
  readonly #spanBytes: Counter<'format'>;

  constructor({ countUnfinished, countWaits }: StoreGauges, registry: Registry = new Registry()) {
    this.#registry = registry;
    const registers = [this.#registry];
    const labelNames = [...requestLabels];
    this.#requests = new Histogram({
      name: 'agl_store_request_duration_seconds',
      help: 'Duration of requests, except long polls and event streams',
      labelNames,
      buckets: requestBuckets,
      registers,
    });
    this.#waits = new Histogram({
      name: 'agl_store_wait_duration_seconds',
      help: 'Duration of long polls and event streams',
      labelNames,
      buckets: waitBuckets,
      registers,
    });
    const counter = <TLabel extends string>(name: string, help: string, ...labels: TLabel[]): Counter<TLabel> =>
      new Counter({ name, help, labelNames: labels, registers });
    this.#claims = counter('agl_store_claims_total', 'Rollouts claimed from this server');
    this.#enqueued = counter('agl_store_enqueued_total', 'Rollouts enqueued by this server');
    this.#spans = counter('agl_store_spans_total', 'Spans recorded by this server', 'format');
    this.#spanBytes = counter('agl_store_span_bytes_total', 'Bytes of request bodies with spans', 'format');
    new Gauge({
      name: 'agl_store_rollouts',
      help: 'Unfinished rollouts by status',
      labelNames: ['status'],
      registers,
      async collect() {
        for (const [status, count] of await countUnfinished()) this.set({ status }, count);
      },
    });
    new Gauge({
      name: 'agl_store_waits',
      help: 'Open long polls and event streams by kind',
      labelNames: ['kind'],
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
