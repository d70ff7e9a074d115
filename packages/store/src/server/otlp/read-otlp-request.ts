import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { AgentLightningError, ValidationError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { fromBinary, fromJson, type JsonValue } from '@bufbuild/protobuf';
import type { Context } from 'hono';
import {
  type ExportTraceServiceRequest,
  ExportTraceServiceRequestSchema,
} from '../../gen/agentlightning/otlp/v1/traces_pb.ts';
import { assertJsonSize } from '../../sql/json-limits.ts';
import { charged } from '../limits/serving-shares.ts';
import { assertMessageSize } from './message-limits.ts';
import type { OtlpEncoding } from './otlp-response.ts';

const decompress = promisify(gunzip);

/** The encoding of an OTLP request and its response; null when it is not an OTLP encoding. */
export function otlpEncodingOf(context: Context): OtlpEncoding | null {
  const type = context.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  return type === 'application/x-protobuf' || type === 'application/json' ? type : null;
}

/**
 * Reads and decompresses an OTLP request.
 *
 * @throws ValidationError when it is malformed, AgentLightningError PAYLOAD_TOO_LARGE when it is too large
 */
export async function readOtlpRequest(
  context: Context,
  encoding: OtlpEncoding,
  maxBodyBytes: number,
): Promise<ExportTraceServiceRequest> {
  const bytes = await readBytes(context, maxBodyBytes);
  try {
    return charged(context, () => parseRequest(bytes, encoding));
  } catch (cause) {
    if (AgentLightningError.isInstance(cause) && cause.code === 'PAYLOAD_TOO_LARGE') throw cause;
    throw malformed(`body is not an OTLP request of type ${encoding}: ${reasonOf(cause)}`, cause);
  }
}

function parseRequest(bytes: Buffer, encoding: OtlpEncoding): ExportTraceServiceRequest {
  if (encoding === 'application/x-protobuf') {
    assertMessageSize(ExportTraceServiceRequestSchema, bytes);
    return fromBinary(ExportTraceServiceRequestSchema, bytes);
  }
  assertJsonSize(bytes);
  const json: JsonValue = bytes.length === 0 ? {} : JSON.parse(bytes.toString('utf8'), idsToBase64);
  return fromJson(ExportTraceServiceRequestSchema, json, { ignoreUnknownFields: true });
}

async function readBytes(context: Context, maxBodyBytes: number): Promise<Buffer> {
  const body = Buffer.from(await context.req.arrayBuffer());
  const contentEncoding = context.req.header('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (contentEncoding === 'identity' || contentEncoding === '') return body;
  if (contentEncoding !== 'gzip') throw malformed(`content encoding must be gzip or none, got ${contentEncoding}`);
  try {
    return await decompress(body, { maxOutputLength: maxBodyBytes });
  } catch (cause) {
    if (!isTooLarge(cause)) throw malformed(`body is not gzip: ${reasonOf(cause)}`, cause);
    throw new AgentLightningError({
      code: 'PAYLOAD_TOO_LARGE',
      message: `The decompressed request body exceeds ${maxBodyBytes} bytes`,
      remedy: 'Send fewer spans per request, or raise maxBodyBytes of the server.',
      cause,
      details: { maxBodyBytes },
    });
  }
}

/** The fields that are hex digits in OTLP/JSON and base64 in the JSON mapping of protocol buffers. */
const idFields = new Set(['traceId', 'spanId', 'parentSpanId', 'trace_id', 'span_id', 'parent_span_id']);

function idsToBase64(key: string, value: unknown): unknown {
  if (typeof value !== 'string' || !idFields.has(key)) return value;
  if (!/^([0-9a-f]{2})*$/i.test(value)) throw malformed(`${key} must be hex digits, got ${value.slice(0, 100)}`);
  return Buffer.from(value, 'hex').toString('base64');
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function reasonOf(cause: unknown): string {
  if (cause instanceof ValidationError) return cause.issues.map(({ message }) => message).join('; ');
  return errorMessage(cause);
}

function malformed(message: string, cause?: unknown): ValidationError {
  return new ValidationError('Request', [{ path: '', message }], cause);
}
