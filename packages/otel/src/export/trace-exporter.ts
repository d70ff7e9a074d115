import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AgentLightningError, type Attributes, type Clock, type Span } from '@agentlightning/core';
import {
  backoffMs,
  calledModel,
  errorMessage,
  genAiAttributes,
  modelCallAttributes,
  parseRetryAfterMs,
  systemClock,
  withRetry,
} from '@agentlightning/core/internal';
import { joinModelCalls } from '@agentlightning/core/spans';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { ExportedContent } from './export-attributes.ts';
import type { OtlpProtocol, TraceTarget } from './export-target.ts';
import { rejectedScores, type ScoreTarget, scoreRequests } from './score-requests.ts';
import { type AttemptScore, attemptScores, summarizeRoots } from './summarize-roots.ts';
import { hasValidIds, toReadableSpan } from './to-readable-span.ts';

/** Options of a {@link TraceExporter}. */
export interface TraceExporterOptions extends ExportedContent {
  /** Where traces are sent. */
  readonly target: TraceTarget;
  /** Resource attributes of all spans, such as the id of the run. @default the service name `agentlightning` */
  readonly resource?: Readonly<Record<string, string>>;
  /** Maximum number of spans per request. @default 256 */
  readonly maxBatchSpans?: number;
  /** Maximum number of tries per request. @default 6 */
  readonly maxTries?: number;
  /** Time limit of one request, in milliseconds. @default 10000 */
  readonly timeoutMs?: number;
  /** @default the global fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** @default systemClock */
  readonly clock?: Clock;
}

/** Counts of exported data so far. */
export interface TraceExportCounts {
  /** Spans that the receiver has accepted. */
  readonly spans: number;
  /** Number of requests. */
  readonly requests: number;
  /** Rewards that the receiver has accepted as scores. */
  readonly scores: number;
  /** Spans and scores that the receiver has rejected. */
  readonly rejected: number;
  /** Spans without valid OpenTelemetry ids, which were not sent. */
  readonly skipped: number;
  /** Distinct reasons of the receiver for what it has rejected, at most ten. */
  readonly reasons: readonly string[];
}

/** A request that failed. */
class RequestFailure extends AgentLightningError {
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(url: string, response: { readonly status: number; readonly text: string }, retryAfterMs: number | null) {
    const { status, text } = response;
    super({
      code: status === 401 ? 'UNAUTHENTICATED' : status === 403 ? 'PERMISSION_DENIED' : 'UNREACHABLE',
      message: `the OTLP endpoint ${withoutCredentials(url)} responded with status ${status}: ${text.slice(0, 300)}`,
      remedy: status === 401 || status === 403 ? 'Set the key of the receiver.' : 'Check the address and the receiver.',
    });
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Statuses that OTLP exporters retry. */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504]);

interface SentRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

const contentTypes: Readonly<Record<OtlpProtocol, string>> = {
  'http/json': 'application/json',
  'http/protobuf': 'application/x-protobuf',
};

const backoff = { baseDelayMs: 500, maxDelayMs: 10_000 };
const compress = promisify(gzip);

/**
 * Exports the spans of rollouts by OTLP, in batches, and their rewards as scores where the tool has them. Transient failures are retried; a batch that is too large is divided.
 *
 * @example
 * ```ts
 * const exporter = new TraceExporter({ target: traceTarget('phoenix', process.env) });
 * const { items } = await store.querySpans({ rolloutId });
 * await exporter.export(items);
 * console.log(exporter.counts);
 * ```
 */
export class TraceExporter {
  readonly #options: TraceExporterOptions;
  readonly #clock: Clock;
  readonly #resource: Resource;
  readonly #reasons = new Set<string>();
  #spans = 0;
  #requests = 0;
  #scores = 0;
  #rejected = 0;
  #skipped = 0;

  constructor(options: TraceExporterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#resource = resourceFromAttributes({ 'service.name': 'agentlightning', ...options.resource });
  }

  /** What was exported, and what was lost. */
  get counts(): TraceExportCounts {
    return {
      spans: this.#spans,
      requests: this.#requests,
      scores: this.#scores,
      rejected: this.#rejected,
      skipped: this.#skipped,
      reasons: [...this.#reasons],
    };
  }

  /**
   * Exports spans; all of an attempt at once, so that each model call is one span.
   *
   * @throws AgentLightningError UNREACHABLE when the receiver cannot be reached or rejects the request, UNAUTHENTICATED or
   *   PERMISSION_DENIED when it rejects the key
   */
  async export(spans: readonly Span[]): Promise<void> {
    const valid = spans.filter(hasValidIds);
    this.#skipped += spans.length - valid.length;
    const { maxBatchSpans = 256 } = this.#options;
    const single = summarizeRoots(collapseModelCalls(valid), this.#options.content !== false);
    for (let start = 0; start < single.length; start += maxBatchSpans) {
      await this.#send(single.slice(start, start + maxBatchSpans));
    }
    const { scores } = this.#options.target;
    if (scores !== undefined) await this.#sendScores(scores, attemptScores(single));
  }

  async #sendScores(target: ScoreTarget, scores: readonly AttemptScore[]): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    for (const { url, count, body } of scoreRequests(target, scores, this.#clock.now())) {
      const sent = { url, headers, body: new TextEncoder().encode(JSON.stringify(body)) };
      const reasons = rejectedScores(await this.#post(sent));
      this.#scores += count - reasons.length;
      this.#reject(reasons.length, reasons[0]);
    }
  }

  async #send(spans: readonly Span[]): Promise<void> {
    const { target } = this.#options;
    const serializer = target.protocol === 'http/json' ? JsonTraceSerializer : ProtobufTraceSerializer;
    const body = serializer.serializeRequest(
      spans.map((span) => toReadableSpan(span, { ...this.#options, resource: this.#resource })),
    );
    if (body === undefined) return;
    try {
      const headers = { 'content-type': contentTypes[target.protocol], 'content-encoding': 'gzip' };
      const response = await this.#post({ url: target.url, headers, body: await compress(body) });
      const { partialSuccess } = response.length === 0 ? {} : serializer.deserializeResponse(response);
      const rejected = Math.min(spans.length, Number(partialSuccess?.rejectedSpans ?? 0));
      this.#count(spans.length, rejected, partialSuccess?.errorMessage);
    } catch (error) {
      if (!(error instanceof RequestFailure) || error.status !== 413) throw error;
      if (spans.length === 1) return this.#count(1, 1, error.message);
      const middle = spans.length >> 1;
      await this.#send(spans.slice(0, middle));
      await this.#send(spans.slice(middle));
    }
  }

  #count(sent: number, rejected: number, reason: string | undefined): void {
    this.#spans += sent - rejected;
    this.#reject(rejected, reason);
  }

  #reject(rejected: number, reason: string | undefined): void {
    this.#rejected += rejected;
    if (reason && this.#reasons.size < 10) this.#reasons.add(reason);
  }

  #post(request: SentRequest): Promise<Uint8Array> {
    const { maxTries = 6 } = this.#options;
    return withRetry(() => this.#request(request), {
      clock: this.#clock,
      delayMs: (error, failures) => {
        if (failures >= maxTries) return null;
        if (!(error instanceof RequestFailure)) return backoffMs(backoff, failures);
        if (!retryable.has(error.status)) return null;
        return error.retryAfterMs ?? backoffMs(backoff, failures);
      },
    });
  }

  async #request({ url, headers: own, body }: SentRequest): Promise<Uint8Array> {
    const { target, timeoutMs = 10_000, fetch = globalThis.fetch } = this.#options;
    this.#requests += 1;
    const headers = { ...own, ...target.headers };
    const signal = AbortSignal.timeout(timeoutMs);
    let response: Response;
    try {
      response = await fetch(url, {
        method: 'POST',
        headers,
        body: Uint8Array.from(body),
        signal,
        redirect: 'error',
      });
    } catch (cause) {
      throw new AgentLightningError({
        code: 'UNREACHABLE',
        message: `the OTLP endpoint ${withoutCredentials(url)} cannot be reached: ${reasonOf(cause)}`,
        remedy: 'Start the receiver, or pass its address.',
        cause,
      });
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (response.ok) return bytes;
    const text = new TextDecoder().decode(bytes);
    const retryAfterMs = parseRetryAfterMs(response.headers.get('retry-after'), this.#clock.now());
    throw new RequestFailure(url, { status: response.status, text }, retryAfterMs);
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return errorMessage(cause);
}

function withoutCredentials(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/**
 * One span for each model call: where an attempt has the step of a framework and the record of the gateway, the step with
 * the attributes of both. Other tools would count tokens and costs of the call twice. The model is the one that responded, by
 * which they determine prices; the one that the agent requested is `agentlightning.requested_model`.
 */
function collapseModelCalls(spans: readonly Span[]): readonly Span[] {
  const captures = new Map<string, Span>();
  const absorbed = new Set<string>();
  for (const { captured, step } of joinModelCalls(spans)) {
    if (captured === null || step === null) continue;
    captures.set(step.spanId, captured);
    absorbed.add(captured.spanId);
  }
  return spans
    .filter(({ spanId }) => !absorbed.has(spanId))
    .map((span) => {
      const captured = captures.get(span.spanId);
      if (captured === undefined) return withModel(span, span.attributes);
      return withModel({ ...span, attributes: { ...captured.attributes, ...span.attributes } }, captured.attributes);
    });
}

/** A span with the model of the record, which names the one that responded. */
function withModel(span: Span, record: Attributes): Span {
  const { name, requested } = calledModel(record, span.attributes);
  if (name === null) return span;
  return {
    ...span,
    attributes: {
      ...span.attributes,
      [genAiAttributes.requestModel]: name,
      [genAiAttributes.responseModel]: name,
      ...(requested === null ? {} : { [modelCallAttributes.requestedModel]: requested }),
    },
  };
}
