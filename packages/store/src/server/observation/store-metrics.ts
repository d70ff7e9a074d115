import type { RolloutStatus } from '@agentlightning/core';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What is counted when it is asked for, rather than as it happens. */
export interface StoreGauges {
  /** How many rollouts have each status that is not an end. */
  countUnfinished(): Promise<ReadonlyMap<RolloutStatus, number>>;
  /** How many requests wait for something to happen, by what it is. */
  countWaits(): ReadonlyMap<string, number>;
}

/** How a request ended. */
export interface EndedRequest {
  readonly method: string;
  /** The route's path as the router has it; null when there is none. */
  readonly path: string | null;
  /** Null when the client went away before there was one. */
  readonly status: number | null;
  readonly isWait: boolean;
  readonly durationMs: number;
}

const verbs: readonly string[] = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'];
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const waitBuckets = [0.01, 0.1, 1, 5, 10, 30, 60, 300];
const requestLabels = ['method', 'route', 'status'] as const;

/** What a server counts, for Prometheus. Labels have few values: never an id. */
export class StoreMetrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram<(typeof requestLabels)[number]>;
  readonly #waits: Histogram<(typeof requestLabels)[number]>;
  readonly #claims: Counter;
  readonly #enqueued: Counter;
  readonly #spans: Counter<'format'>;
  readonly #spanBytes: Counter<'format'>;
  #hasDefaults = false;

  constructor({ countUnfinished, countWaits }: StoreGauges) {
    const registers = [this.#registry];
    const labelNames = [...requestLabels];
    this.#requests = new Histogram({
      name: 'agl_store_request_duration_seconds',
      help: 'How long requests took that wait for nothing',
      labelNames,
      buckets: requestBuckets,
      registers,
    });
    this.#waits = new Histogram({
      name: 'agl_store_wait_duration_seconds',
      help: 'How long requests took that wait for something to happen, and streams of events',
      labelNames,
      buckets: waitBuckets,
      registers,
    });
    const counter = <TLabel extends string>(name: string, help: string, ...labels: TLabel[]): Counter<TLabel> =>
      new Counter({ name, help, labelNames: labels, registers });
    this.#claims = counter('agl_store_claims_total', 'Rollouts that this server gave out');
    this.#enqueued = counter('agl_store_enqueued_total', 'Rollouts that this server put into the queue');
    this.#spans = counter('agl_store_spans_total', 'Spans that this server recorded', 'format');
    this.#spanBytes = counter('agl_store_span_bytes_total', 'Bytes of the bodies that spans came in', 'format');
    new Gauge({
      name: 'agl_store_rollouts',
      help: 'Rollouts in the store that are not finished, by status',
      labelNames: ['status'],
      registers,
      async collect() {
        for (const [status, count] of await countUnfinished()) this.set({ status }, count);
      },
    });
    new Gauge({
      name: 'agl_store_waits',
      help: 'Requests that wait for something to happen',
      labelNames: ['kind'],
      registers,
      collect() {
        for (const [kind, count] of countWaits()) this.set({ kind }, count);
      },
    });
  }

  /** The type of {@link text}. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Everything that was counted, as Prometheus reads it. */
  text(): Promise<string> {
    if (!this.#hasDefaults) {
      // Looking at the process costs something, so nobody does who is not asked.
      collectDefaultMetrics({ register: this.#registry });
      this.#hasDefaults = true;
    }
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

  /** `bytes` is the length of the body that the spans came in. */
  spansRecorded(count: number, { format, bytes }: { readonly format: 'json' | 'otlp'; readonly bytes: number }): void {
    this.#spans.inc({ format }, count);
    this.#spanBytes.inc({ format }, bytes);
  }
}
