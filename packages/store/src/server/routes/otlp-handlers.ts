import { setImmediate } from 'node:timers/promises';
import { AgentLightningError, NotFoundError, type Span, type SpanInput, ValidationError } from '@agentlightning/core';
import { maxBatchItems } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import { agentOf, refusedSpans } from '../access/agent-limits.ts';
import { exportResponse, otlpErrorResponse, presentable, warningResponse } from '../otlp/otlp-response.ts';
import { spansFromOtlp } from '../otlp/otlp-spans.ts';
import { otlpEncodingOf, readOtlpRequest } from '../otlp/read-otlp-request.ts';
import { bodyBytes } from '../request-input.ts';
import type { RouteHandler, SpecialHandlers, StoreRouteOptions } from '../route-handler.ts';

/** Exporters repeat and log a failed export; a warning in a response of success ends it. */
const ignored: RouteHandler = (context) => {
  const warning = 'only traces are recorded: this signal was accepted and ignored';
  return warningResponse(context, otlpEncodingOf(context) ?? 'application/x-protobuf', warning);
};

type OtlpRoute = 'exportTraces' | 'exportMetrics' | 'exportLogs' | 'exportProfiles';

/** Spans of OpenTelemetry exporters: OTLP over HTTP. */
export function otlpHandlers({
  store,
  metrics,
  maxBodyBytes,
  onFault,
}: StoreRouteOptions): Pick<SpecialHandlers, OtlpRoute> {
  return {
    exportMetrics: ignored,
    exportLogs: ignored,
    exportProfiles: ignored,
    exportTraces: async (context) => {
      const encoding = otlpEncodingOf(context);
      try {
        if (encoding === null) throw unknownType(context);
        const request = await readOtlpRequest(context, encoding, maxBodyBytes);
        // An attempt token assigns spans without assignment attributes.
        const { spans, leftOut } = spansFromOtlp(request, agentOf(context));
        const refused = await refusedSpans(context, store, spans);
        const [refusal] = refused.values();
        if (refusal !== undefined && refused.size === spans.length) throw refusal;
        const allowed = spans.filter((span) => !refused.has(span));
        const { recorded, rejected } = await appendInBatches(allowed);
        metrics.spansRecorded(recorded, { format: 'otlp', bytes: await bodyBytes(context) });
        return exportResponse(context, encoding, [...leftOut, ...reasonsOf(refused), ...rejected]);
      } catch (error) {
        const shown = presentable(error);
        if (shown.code === 'INTERNAL') onFault(error);
        // Clients with an unknown encoding get the same response as from the protocol's reference server.
        return otlpErrorResponse(context, encoding ?? 'application/x-protobuf', shown);
      }
    },
  };

  /** Records spans; other requests are served between batches. */
  async function appendInBatches(spans: readonly SpanInput[]): Promise<AppendedSpans> {
    let recorded = 0;
    const rejected: string[] = [];
    for (let start = 0; start < spans.length; start += maxBatchItems) {
      if (start > 0) await setImmediate();
      const batch = await append(spans.slice(start, start + maxBatchItems));
      recorded += batch.recorded;
      rejected.push(...batch.rejected);
    }
    return { recorded, rejected };
  }

  /** Records spans and returns the reasons of rejected ones: unknown attempts and exceeded quotas. */
  async function append(spans: readonly SpanInput[]): Promise<AppendedSpans> {
    try {
      return { recorded: countNew(await store.appendSpans(spans)), rejected: [] };
    } catch (error) {
      if (rejectionOf(error) === null) throw error;
    }
    const rejected: string[] = [];
    let recorded = 0;
    for (const ofAttempt of byAttempt(spans)) {
      try {
        recorded += countNew(await store.appendSpans(ofAttempt));
      } catch (error) {
        const reason = rejectionOf(error);
        if (reason === null) throw error;
        rejected.push(...ofAttempt.map(() => reason));
      }
    }
    return { recorded, rejected };
  }
}

/** The outcome of recording spans. */
interface AppendedSpans {
  /** Number of new spans. */
  readonly recorded: number;
  /** The reasons of rejected spans, one per span. */
  readonly rejected: readonly string[];
}

/** The reason to reject the spans of one attempt; null for an error of the whole request. */
function rejectionOf(error: unknown): string | null {
  if (error instanceof NotFoundError) return `${error.details.kind} ${error.details.id} not found`;
  if (!AgentLightningError.isInstance(error) || error.code !== 'QUOTA_EXCEEDED') return null;
  return `${error.message} ${error.remedy}`;
}

function countNew(spans: readonly (Span | null)[]): number {
  return spans.filter((span) => span !== null).length;
}

/** The reasons of rejected spans, one per span. */
function reasonsOf(refused: ReadonlyMap<SpanInput, AgentLightningError>): readonly string[] {
  return [...refused.values()].map((refusal) => `${refusal.message} ${refusal.remedy}`);
}

function byAttempt(spans: readonly SpanInput[]): Iterable<readonly SpanInput[]> {
  const groups = new Map<string, SpanInput[]>();
  for (const span of spans) {
    const attempt = JSON.stringify([span.rolloutId, span.attemptId]);
    const group = groups.get(attempt);
    if (group === undefined) groups.set(attempt, [span]);
    else group.push(span);
  }
  return groups.values();
}

function unknownType(context: Context): ValidationError {
  const given = context.req.header('content-type') ?? 'none';
  return new ValidationError('Request', [
    { path: '', message: `content type must be application/x-protobuf or application/json, got ${given}` },
  ]);
}
