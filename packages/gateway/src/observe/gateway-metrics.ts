import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { EndedCall, StartedCall } from '../capture/call-recorder.ts';
import type { CallObservation } from './call-observation.ts';
import { type GatewayGauges, registerGauges } from './gateway-gauges.ts';
import { LabelNames } from './label-names.ts';

/** How one request to an upstream ended: its status, or `error` when there was no whole answer. */
export interface UpstreamTry {
  readonly upstream: string;
  readonly outcome: number | 'error';
  readonly durationMs: number;
}

const callBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const addedBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1];
const callLabels = ['api', 'model'] as const;

/** What a gateway counts, for Prometheus. Labels have few values: never an id. */
export class GatewayMetrics {
  readonly #registry: Registry = new Registry();
  readonly #models: LabelNames = new LabelNames();
  readonly #calls: Counter<'api' | 'model' | 'status'>;
  readonly #duration: Histogram<'api' | 'model'>;
  readonly #added: Histogram<'api' | 'model'>;
  readonly #firstToken: Histogram<'model'>;
  readonly #tokens: Counter<'model' | 'kind'>;
  readonly #recorded: Counter<'model' | 'kind'>;
  readonly #tries: Histogram<'upstream' | 'outcome'>;
  readonly #retries: Counter<'upstream'>;
  #hasDefaults = false;

  constructor(gauges: GatewayGauges) {
    const registers = [this.#registry];
    const counter = <TLabel extends string>(name: string, help: string, ...labelNames: TLabel[]): Counter<TLabel> =>
      new Counter({ name: `agl_gateway_${name}`, help, labelNames, registers });
    const histogram = <TLabel extends string>(
      name: string,
      help: string,
      options: { readonly buckets: number[]; readonly labelNames: readonly TLabel[] },
    ): Histogram<TLabel> => new Histogram({ name: `agl_gateway_${name}_seconds`, help, registers, ...options });
    const perCall = { buckets: callBuckets, labelNames: callLabels };
    this.#calls = counter(
      'calls_total',
      'Model calls that have left, by the status they were answered with',
      'api',
      'model',
      'status',
    );
    this.#duration = histogram(
      'call_duration',
      'How long model calls took, from their arrival to their record',
      perCall,
    );
    this.#added = histogram(
      'call_added',
      'How much of that was not waiting for a model, of calls that are not streamed',
      {
        ...perCall,
        buckets: addedBuckets,
      },
    );
    this.#firstToken = histogram('first_token', 'How long the first bytes of an answer took', {
      buckets: callBuckets,
      labelNames: ['model'],
    });
    this.#tokens = counter('tokens_total', 'Tokens that models read and wrote, as they counted them', 'model', 'kind');
    this.#recorded = counter(
      'recorded_calls_total',
      'Recorded calls: trainable, untrainable, failed or plain',
      'model',
      'kind',
    );
    this.#tries = histogram('upstream_request', 'How long upstreams took to answer; the head, for streams', {
      buckets: callBuckets,
      labelNames: ['upstream', 'outcome'],
    });
    this.#retries = counter(
      'upstream_retries_total',
      'Calls that were made again because an upstream failed',
      'upstream',
    );
    registerGauges(this.#registry, gauges);
  }

  /** A call was answered and recorded, or never will be. */
  callLeft(call: CallObservation, left: { readonly httpStatus: number; readonly durationMs: number }): void {
    const labels = { api: call.api, model: this.#models.of(call.model) };
    this.#calls.inc({ ...labels, status: left.httpStatus });
    this.#duration.observe(labels, left.durationMs / 1000);
    // A stream goes at the pace of the model and of its reader: what is added cannot be told from that.
    if (!call.isStreamed) this.#added.observe(labels, Math.max(0, left.durationMs - call.upstreamMs) / 1000);
  }

  /** What became of a call that is recorded. */
  callEnded({ attempt, startTimeMs }: StartedCall, ended: EndedCall, untrainable: string | null): void {
    const { asked, answer, firstByteTimeMs, failure } = ended;
    const model = this.#models.of(asked.model);
    if (firstByteTimeMs !== null) this.#firstToken.observe({ model }, (firstByteTimeMs - startTimeMs) / 1000);
    if (answer.usage !== null) {
      // An engine may count what cannot be.
      this.#tokens.inc({ model, kind: 'input' }, Math.max(0, answer.usage.inputTokens));
      this.#tokens.inc({ model, kind: 'output' }, Math.max(0, answer.usage.outputTokens));
    }
    const isTrainable = !attempt.isPlain && untrainable === null;
    const other = attempt.isPlain ? 'plain' : failure !== null ? 'failed' : 'untrainable';
    this.#recorded.inc({ model, kind: isTrainable ? 'trainable' : other });
  }

  /** An upstream was asked. */
  upstreamTried({ upstream, outcome, durationMs }: UpstreamTry): void {
    this.#tries.observe({ upstream, outcome }, durationMs / 1000);
  }

  /** A call is made again. */
  retried(upstream: string): void {
    this.#retries.inc({ upstream });
  }

  /** All of it, in the text format of Prometheus. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    // Those of the process cost something as long as it runs, so only where somebody reads them.
    if (!this.#hasDefaults) collectDefaultMetrics({ register: this.#registry });
    this.#hasDefaults = true;
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}
