import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallObservation } from '../wire/call-observation.ts';
import type { GatewayState, UpstreamState } from '../wire/gateway-options.ts';
import type { EndedCall, StartedCall } from './call-recorder.ts';

/** A request to an upstream and its outcome: its status, or `error` without a complete response. */
export interface UpstreamTry {
  readonly upstream: string;
  readonly outcome: number | 'error';
  readonly durationMs: number;
}

const callBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const addedBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1];
const callLabels = ['api', 'model'] as const;

/** Limit of distinct model labels. */
const maxModelNames = 100;

/** Limits the number of labels: agents may send any model name, and every label is kept until exit. */
class LabelNames {
  readonly #known: Set<string> = new Set();

  /** The name itself, or `other` beyond the limit. */
  of(name: string | null): string {
    if (name === null || name === '') return 'none';
    if (this.#known.has(name)) return name;
    if (this.#known.size >= maxModelNames) return 'other';
    this.#known.add(name);
    return name;
  }
}

/** Prometheus metrics of a gateway. Labels have few values: never an id. */
export class GatewayMetrics {
  readonly #registry: Registry;
  readonly #models: LabelNames = new LabelNames();
  readonly #calls: Counter<'api' | 'model' | 'status'>;
  readonly #duration: Histogram<'api' | 'model'>;
  readonly #added: Histogram<'api' | 'model'>;
  readonly #firstToken: Histogram<'model'>;
  readonly #tokens: Counter<'model' | 'kind'>;
  readonly #recorded: Counter<'model' | 'kind'>;
  readonly #tries: Histogram<'upstream' | 'outcome'>;
  readonly #retries: Counter<'upstream'>;

  constructor(gauges: GatewayGauges, registry: Registry = new Registry()) {
    this.#registry = registry;
    const registers = [this.#registry];
    const counter = <TLabel extends string>(name: string, help: string, ...labelNames: TLabel[]): Counter<TLabel> =>
      new Counter({ name: `agl_gateway_${name}`, help, labelNames, registers });
    const histogram = <TLabel extends string>(
      name: string,
      help: string,
      options: { readonly buckets: number[]; readonly labelNames: readonly TLabel[] },
    ): Histogram<TLabel> => new Histogram({ name: `agl_gateway_${name}_seconds`, help, registers, ...options });
    const perCall = { buckets: callBuckets, labelNames: callLabels };
    this.#calls = counter('calls_total', 'Finished model calls by response status', 'api', 'model', 'status');
    this.#duration = histogram(
      'call_duration',
      'Duration of model calls, from arrival until recorded, in seconds',
      perCall,
    );
    this.#added = histogram(
      'call_added',
      'Part of the duration not spent waiting for the model, for calls that are not streamed',
      {
        ...perCall,
        buckets: addedBuckets,
      },
    );
    this.#firstToken = histogram('first_token', 'Time to the first byte of a response', {
      buckets: callBuckets,
      labelNames: ['model'],
    });
    this.#tokens = counter(
      'tokens_total',
      'Tokens of prompts and completions, as counted by the engine',
      'model',
      'kind',
    );
    this.#recorded = counter(
      'recorded_calls_total',
      'Recorded calls: trainable, untrainable, failed or plain',
      'model',
      'kind',
    );
    this.#tries = histogram('upstream_request', 'Duration of upstream requests; until the head, for streams', {
      buckets: callBuckets,
      labelNames: ['upstream', 'outcome'],
    });
    this.#retries = counter('upstream_retries_total', 'Retries after upstream failures', 'upstream');
    registerGauges(this.#registry, gauges);
  }

  /** A call has finished. */
  callFinished(call: CallObservation, left: { readonly httpStatus: number; readonly durationMs: number }): void {
    const labels = { api: call.api, model: this.#models.of(call.model) };
    this.#calls.inc({ ...labels, status: left.httpStatus });
    this.#duration.observe(labels, left.durationMs / 1000);
    // The duration of a stream depends on model and reader; the gateway's share cannot be separated.
    if (!call.isStreamed) this.#added.observe(labels, Math.max(0, left.durationMs - call.upstreamMs) / 1000);
  }

  /** A call was recorded. */
  callEnded({ attempt, startTimeMs }: StartedCall, ended: EndedCall, untrainable: string | null): void {
    const { parameters, captured, firstByteTimeMs, failure } = ended;
    const model = this.#models.of(parameters.model);
    if (firstByteTimeMs !== null) this.#firstToken.observe({ model }, (firstByteTimeMs - startTimeMs) / 1000);
    if (captured.usage !== null) {
      // Engines may report negative counts.
      this.#tokens.inc({ model, kind: 'input' }, Math.max(0, captured.usage.inputTokens));
      this.#tokens.inc({ model, kind: 'output' }, Math.max(0, captured.usage.outputTokens));
    }
    const isTrainable = !attempt.isUnattributed && untrainable === null;
    const other = attempt.isUnattributed ? 'unattributed' : failure !== null ? 'failed' : 'untrainable';
    this.#recorded.inc({ model, kind: isTrainable ? 'trainable' : other });
  }

  /** A request to an upstream has ended. */
  upstreamTried({ upstream, outcome, durationMs }: UpstreamTry): void {
    this.#tries.observe({ upstream, outcome }, durationMs / 1000);
  }

  /** A call is retried. */
  retried(upstream: string): void {
    this.#retries.inc({ upstream });
  }

  /** The metrics in Prometheus text format. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    // Default metrics have a running cost, so they start with the first scrape.
    const hasDefaults = this.#registry.getSingleMetric('process_cpu_user_seconds_total') !== undefined;
    if (!hasDefaults) collectDefaultMetrics({ register: this.#registry });
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}

/** Values that are read when metrics are scraped. */
interface GatewayGauges {
  readonly state: () => GatewayState;
  readonly upstreams: () => readonly UpstreamState[];
}

/** Registers the gauges. */
function registerGauges(registry: Registry, { state, upstreams }: GatewayGauges): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name: `agl_gateway_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  const perUpstream = (name: string, help: string, read: (upstream: UpstreamState) => number | null): void => {
    new Gauge({
      name: `agl_gateway_upstream_${name}`,
      help,
      labelNames: ['upstream'],
      registers: [registry],
      collect() {
        // Drops the series of removed upstreams.
        this.reset();
        for (const upstream of upstreams()) {
          const value = read(upstream);
          if (value !== null) this.set({ upstream: upstream.id }, value);
        }
      },
    });
  };
  gauge('calls_in_flight', 'Model calls in flight', () => state().inFlight);
  gauge('paused', 'Whether model calls are rejected', () => Number(state().isPaused));
  perUpstream('up', 'Whether an upstream works', ({ isUp }) => Number(isUp));
  perUpstream('in_flight', 'Calls in flight at an upstream', ({ inFlight }) => inFlight);
  perUpstream('queued', 'Calls in the queue of an upstream', ({ queued }) => queued);
  perUpstream('token_ids', 'Whether an upstream returns token ids; absent until its first response', ({ tokenIds }) =>
    tokenIds === 'unknown' ? null : Number(tokenIds === 'given'),
  );
}
