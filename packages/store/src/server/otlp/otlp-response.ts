import { gzipSync } from 'node:zlib';
import { AgentLightningError } from '@agentlightning/core';
import { httpStatusOf } from '@agentlightning/core/protocol';
import { create, type DescMessage, type MessageShape, toBinary, toJsonString } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import { ExportTraceServiceResponseSchema, StatusSchema } from '../../gen/agentlightning/otlp/v1/traces_pb.ts';

/** Encoding of OTLP messages. */
export type OtlpEncoding = 'application/x-protobuf' | 'application/json';

/** Responds to an export, with the rejected spans as partial success. */
export function exportResponse(context: Context, encoding: OtlpEncoding, rejected: readonly string[]): Response {
  const partialSuccess = { rejectedSpans: BigInt(rejected.length), errorMessage: summaryOf(rejected) };
  const message = create(ExportTraceServiceResponseSchema, rejected.length === 0 ? {} : { partialSuccess });
  return messageResponse(context, { encoding, status: 200, schema: ExportTraceServiceResponseSchema, message });
}

/** Responds to an export that is accepted with a warning. The message is the same for all signals, since nothing is rejected. */
export function warningResponse(context: Context, encoding: OtlpEncoding, warning: string): Response {
  const partialSuccess = { rejectedSpans: 0n, errorMessage: warning };
  const message = create(ExportTraceServiceResponseSchema, { partialSuccess });
  return messageResponse(context, { encoding, status: 200, schema: ExportTraceServiceResponseSchema, message });
}

/** Responds with an error in the encoding of the request, as OTLP requires. */
export function otlpErrorResponse(context: Context, encoding: OtlpEncoding, error: AgentLightningError): Response {
  const status = otlpStatusOf(error);
  if (status === 503) context.header('retry-after', '1');
  const text = `${error.message} ${error.remedy}`;
  const message = create(StatusSchema, { code: rpcCodes[status] ?? 13, message: text });
  return messageResponse(context, { encoding, status, schema: StatusSchema, message });
}

/** An error for clients: an AgentLightningError unchanged, any other without details. */
export function presentable(error: unknown): AgentLightningError {
  if (AgentLightningError.isInstance(error)) return error;
  return new AgentLightningError({ code: 'INTERNAL', message: 'Internal server error' });
}

function otlpStatusOf(error: AgentLightningError): number {
  const status = httpStatusOf(error.code);
  // Exporters retry only 503, and disk space may be available by then.
  return status === 507 ? 503 : status;
}

/** google.rpc.Code by HTTP status. */
const rpcCodes: Readonly<Record<number, number>> = { 400: 3, 401: 16, 403: 7, 404: 5, 409: 10, 413: 8, 503: 14 };

interface OtlpMessage<TSchema extends DescMessage> {
  readonly encoding: OtlpEncoding;
  readonly status: number;
  readonly schema: TSchema;
  readonly message: MessageShape<TSchema>;
}

function messageResponse<TSchema extends DescMessage>(context: Context, response: OtlpMessage<TSchema>): Response {
  const { encoding, schema, message } = response;
  const isBinary = encoding === 'application/x-protobuf';
  const plain = isBinary ? toBinary(schema, message) : Buffer.from(toJsonString(schema, message));
  const isCompressed = acceptsGzip(context.req.header('accept-encoding') ?? '');
  context.status(response.status as Parameters<typeof context.status>[0]);
  context.header('content-type', encoding);
  if (isCompressed) context.header('content-encoding', 'gzip');
  return context.body(Uint8Array.from(isCompressed ? gzipSync(plain) : plain));
}

/** Whether a client accepts gzip, by the quality values of its `Accept-Encoding`. */
function acceptsGzip(accepted: string): boolean {
  const qualities = accepted.split(',').map((entry) => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    return { name, quality: Number(quality) };
  });
  const gzip = qualities.find(({ name }) => name === 'gzip') ?? qualities.find(({ name }) => name === '*');
  return gzip !== undefined && gzip.quality > 0;
}

/** Summarises distinct reasons, limited in number. */
function summaryOf(reasons: readonly string[]): string {
  const distinct = [...new Set(reasons)];
  const shown = distinct.slice(0, 3).join('; ');
  return distinct.length > 3 ? `${shown}; and ${distinct.length - 3} more reasons` : shown;
}
