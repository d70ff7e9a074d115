import { instrumentOptions, type OperationalMetric, operationalMetrics } from '@agentlightning/core/metrics';
import type { SpanSinkCounts } from '@agentlightning/core/spans';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallObservation } from '../wire/call-observation.ts';
import type { DeploymentRoutes, GatewayState, UpstreamState } from '../wire/gateway-options.ts';
import type { EndedCall, StartedCall } from './call-recorder.ts';

/** A request to an upstream and its outcome: its status, or `error` without a complete response. */
export interface UpstreamTry {
  readonly upstream: string;
  readonly outcome: number | 'error';
  readonly durationMs: number;
}

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
  readonly #deployments: Counter<'deployment' | 'role' | 'outcome'>;

  constructor(gauges: GatewayGauges, registry: Registry = new Registry()) {
    this.#registry = registry;
    const registers = [registry];
    const counter = <TMetric extends OperationalMetric>(metric: TMetric): Counter<TMetric['labels'][number]> =>
      new Counter({ ...instrumentOptions(metric), registers });
    const histogram = <TMetric extends OperationalMetric>(metric: TMetric): Histogram<TMetric['labels'][number]> =>
      new Histogram({ ...instrumentOptions(metric), registers });
    this.#calls = counter(operationalMetrics.gatewayCalls);
    this.#duration = histogram(operationalMetrics.gatewayCallDuration);
    this.#added = histogram(operationalMetrics.gatewayCallAdded);
    this.#firstToken = histogram(operationalMetrics.gatewayFirstToken);
    this.#tokens = counter(operationalMetrics.gatewayTokens);
    this.#recorded = counter(operationalMetrics.gatewayRecordedCalls);
    this.#tries = histogram(operationalMetrics.gatewayUpstreamRequests);
    this.#retries = counter(operationalMetrics.gatewayUpstreamRetries);
    this.#deployments = counter(operationalMetrics.gatewayDeploymentCalls);
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

  /** A version of a deployment has responded or failed; `fell_back`: the stable version took the call of the candidate. */
  deploymentCalled(
    deployment: string,
    role: 'live' | 'candidate',
    outcome: 'responded' | 'failed' | 'fell_back',
  ): void {
    this.#deployments.inc({ deployment, role, outcome });
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
  /** The records of calls of deployments. */
  readonly production: () => SpanSinkCounts;
  /** Null for a gateway without deployments. */
  readonly deployments: DeploymentRoutes | null;
}

/** Registers the gauges. */
function registerGauges(registry: Registry, { state, upstreams, production, deployments }: GatewayGauges): void {
  const gauge = (metric: OperationalMetric, read: () => number): void => {
    new Gauge({
      ...instrumentOptions(metric),
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  const perUpstream = (metric: OperationalMetric, read: (upstream: UpstreamState) => number | null): void => {
    new Gauge({
      ...instrumentOptions(metric),
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
  gauge(operationalMetrics.gatewayRecordsWaiting, () => production().waiting);
  gauge(operationalMetrics.gatewayRecordsLost, () => production().lost);
  new Gauge({
    ...instrumentOptions(operationalMetrics.gatewayCandidateShare),
    registers: [registry],
    collect() {
      this.reset();
      for (const deployment of deployments?.names() ?? []) {
        this.set({ deployment }, deployments?.route(deployment)?.candidate?.share ?? 0);
      }
    },
  });
  gauge(operationalMetrics.gatewayCallsInFlight, () => state().inFlight);
  gauge(operationalMetrics.gatewayPaused, () => Number(state().isPaused));
  perUpstream(operationalMetrics.gatewayUpstreamUp, ({ isUp }) => Number(isUp));
  perUpstream(operationalMetrics.gatewayUpstreamInFlight, ({ inFlight }) => inFlight);
  perUpstream(operationalMetrics.gatewayUpstreamQueued, ({ queued }) => queued);
  perUpstream(operationalMetrics.gatewayUpstreamTokenIds, ({ tokenIds }) =>
    tokenIds === 'unknown' ? null : Number(tokenIds === 'given'),
  );
}
