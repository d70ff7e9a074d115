import { type AgentLightningError, type SpanInput, ValidationError } from '@agentlightning/core';
import { headerNames } from '@agentlightning/core/protocol';
import { productionAttributes } from '@agentlightning/core/spans';
import type { Context } from 'hono';
import { roleOf } from '../access/access-control.ts';
import { agentOf, refusedSpans } from '../access/agent-limits.ts';
import { bearerOf } from '../access/bearer.ts';
import { OtlpRecorder } from '../otlp/otlp-recorder.ts';
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
        // An attempt token, or the name of a deployment, assigns spans without assignment attributes.
        const deployment = context.req.header(headerNames.deployment) ?? null;
        const { spans, leftOut, deployments } = spansFromOtlp(request, { attempt: agentOf(context), deployment });
        const refused = await refusedSpans(context, store, spans);
        const [refusal] = refused.values();
        if (refusal !== undefined && refused.size === spans.length) throw refusal;
        const allowed = spans.filter((span) => !refused.has(span));
        const isProductionOnly = roleOf(bearerOf(context)) === 'ingest';
        const { recorded, rejected, known } = await new OtlpRecorder(store, { deployments, isProductionOnly }).record(
          allowed,
        );
        const reasons = [...leftOut, ...reasonsOf(refused), ...rejected];
        if (recorded + known === 0 && reasons.length > 0) throw allRefused(reasons);
        metrics.spansRecorded(recorded, { format: 'otlp', bytes: await bodyBytes(context) });
        return exportResponse(context, encoding, reasons);
      } catch (error) {
        const shown = presentable(error);
        if (shown.code === 'INTERNAL') onFault(error);
        // Clients with an unknown encoding get the same response as from the protocol's reference server.
        return otlpErrorResponse(context, encoding ?? 'application/x-protobuf', shown);
      }
    },
  };
}

/** The reasons of rejected spans, one per span. */
function reasonsOf(refused: ReadonlyMap<SpanInput, AgentLightningError>): readonly string[] {
  return [...refused.values()].map((refusal) => `${refusal.message} ${refusal.remedy}`);
}

/** Exporters log a partial success at most; the sender of spans that are all refused has a wrong configuration. */
function allRefused(reasons: readonly string[]): ValidationError {
  const remedy = `traces of production name a deployment in the header ${headerNames.deployment} or the resource attribute ${productionAttributes.deployment}`;
  const message = `${reasons.length} spans were refused: ${[...new Set(reasons)].slice(0, 3).join('; ')}; ${remedy}`;
  return new ValidationError('Request', [{ path: '', message }]);
}

function unknownType(context: Context): ValidationError {
  const given = context.req.header('content-type') ?? 'none';
  return new ValidationError('Request', [
    { path: '', message: `content type must be application/x-protobuf or application/json, got ${given}` },
  ]);
}
