import { AgentLightningError } from '@agentlightning/core';
import type { ScoreTarget } from './score-requests.ts';

/** Encoding of OTLP over HTTP. */
export type OtlpProtocol = 'http/protobuf' | 'http/json';

/** Destination of traces. */
export interface TraceTarget {
  /** The complete address, with `/v1/traces` or that of the tool. */
  readonly url: string;
  /** Headers of each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Encoding of the requests. */
  readonly protocol: OtlpProtocol;
  /** Where rewards are sent as scores; absent for tools without them. */
  readonly scores?: ScoreTarget;
}

/** A tool whose address and headers are known: an OTLP collector, Langfuse, Phoenix, LangSmith, MLflow. */
export type TraceTool = 'otlp' | 'langfuse' | 'phoenix' | 'langsmith' | 'mlflow';

/** Settings that replace those of the environment. */
export interface TargetSettings {
  /** Base address of the collector or tool. */
  readonly endpoint?: string | undefined;
  /** Headers of each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Encoding of the requests. */
  readonly protocol?: OtlpProtocol | undefined;
}

/**
 * The target of a tool, from the variables that the tool itself defines: `OTEL_EXPORTER_OTLP_*`; `LANGFUSE_BASE_URL`,
 * `LANGFUSE_PUBLIC_KEY`, `LANGFUSE_SECRET_KEY`; `PHOENIX_COLLECTOR_ENDPOINT`, `PHOENIX_API_KEY`; `LANGSMITH_ENDPOINT`,
 * `LANGSMITH_API_KEY`, `LANGSMITH_PROJECT`; `MLFLOW_TRACKING_URI`, `MLFLOW_EXPERIMENT_ID`, `MLFLOW_TRACKING_TOKEN`,
 * `MLFLOW_TRACKING_USERNAME`, `MLFLOW_TRACKING_PASSWORD`.
 *
 * @throws AgentLightningError CONFIG for a missing key, or an address that is not one of HTTP
 *
 * @example
 * ```ts
 * const target = traceTarget('langfuse', process.env);
 * ```
 */
export function traceTarget(
  tool: TraceTool,
  environment: Readonly<Record<string, string | undefined>>,
  settings: TargetSettings = {},
): TraceTarget {
  const target: TraceTarget = { otlp, langfuse, phoenix, langsmith, mlflow }[tool](environment, settings.endpoint);
  assertHttp(target.url);
  const { headers, protocol } = target;
  return { ...target, headers: { ...headers, ...settings.headers }, protocol: settings.protocol ?? protocol };
}

type Environment = Readonly<Record<string, string | undefined>>;

function otlp(environment: Environment, endpoint: string | undefined): TraceTarget {
  const base = endpoint ?? (environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || 'http://localhost:4318');
  const full = endpoint === undefined ? environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] : undefined;
  const protocol =
    environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || environment['OTEL_EXPORTER_OTLP_PROTOCOL'] || 'http/protobuf';
  if (protocol !== 'http/protobuf' && protocol !== 'http/json') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `traces cannot be exported over OTLP protocol ${protocol}`,
      remedy: 'Set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or http/json, and use the HTTP port of the collector.',
    });
  }
  const headers = {
    ...headersOf(environment['OTEL_EXPORTER_OTLP_HEADERS']),
    ...headersOf(environment['OTEL_EXPORTER_OTLP_TRACES_HEADERS']),
  };
  return { url: full || within(base, 'v1/traces'), headers, protocol };
}

function langfuse(environment: Environment, endpoint: string | undefined): TraceTarget {
  const base =
    endpoint ?? (environment['LANGFUSE_BASE_URL'] || environment['LANGFUSE_HOST'] || 'https://cloud.langfuse.com');
  const publicKey = required(environment, 'LANGFUSE_PUBLIC_KEY', 'Langfuse');
  const secretKey = required(environment, 'LANGFUSE_SECRET_KEY', 'Langfuse');
  const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString('base64')}`;
  const url = within(base, 'api/public/otel/v1/traces');
  return {
    url,
    scores: { tool: 'langfuse', url: url.replace(/otel\/v1\/traces$/, 'ingestion') },
    headers: { authorization, 'x-langfuse-ingestion-version': '4' },
    protocol: 'http/protobuf',
  };
}

function phoenix(environment: Environment, endpoint: string | undefined): TraceTarget {
  const base = endpoint ?? (environment['PHOENIX_COLLECTOR_ENDPOINT'] || 'http://localhost:6006');
  const key = environment['PHOENIX_API_KEY'];
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
  const url = within(base, 'v1/traces');
  const scores: ScoreTarget = { tool: 'phoenix', url: url.replace(/traces$/, 'span_annotations') };
  return { url, headers, protocol: 'http/protobuf', scores };
}

function langsmith(environment: Environment, endpoint: string | undefined): TraceTarget {
  const base = endpoint ?? (environment['LANGSMITH_ENDPOINT'] || 'https://api.smith.langchain.com');
  const project = environment['LANGSMITH_PROJECT'];
  return {
    url: within(base, 'otel/v1/traces'),
    headers: {
      'x-api-key': required(environment, 'LANGSMITH_API_KEY', 'LangSmith'),
      ...(project ? { 'langsmith-project': project } : {}),
    },
    protocol: 'http/protobuf',
  };
}

function mlflow(environment: Environment, endpoint: string | undefined): TraceTarget {
  const base = endpoint ?? (environment['MLFLOW_TRACKING_URI'] || 'http://127.0.0.1:5000');
  const token = environment['MLFLOW_TRACKING_TOKEN'];
  const name = environment['MLFLOW_TRACKING_USERNAME'];
  const password = environment['MLFLOW_TRACKING_PASSWORD'] ?? '';
  const basic = name ? `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` : null;
  const authorization = token ? `Bearer ${token}` : basic;
  const url = within(base, 'v1/traces');
  return {
    url,
    scores: { tool: 'mlflow', url: url.replace(/v1\/traces$/, 'api/3.0/mlflow/traces') },
    headers: {
      'x-mlflow-experiment-id': environment['MLFLOW_EXPERIMENT_ID'] || '0',
      ...(authorization === null ? {} : { authorization }),
    },
    protocol: 'http/protobuf',
  };
}

/** The address of a resource below a base address, which may already end with it. */
function within(base: string, path: string): string {
  const bare = base.replace(/\/+$/, '');
  return bare.endsWith(`/${path}`) ? bare : `${bare}/${path}`;
}

function required(environment: Environment, name: string, tool: string): string {
  const value = environment[name];
  if (value) return value;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${name} is not set; ${tool} rejects requests without a key`,
    remedy: `Set ${name} to the key that the project settings of ${tool} show.`,
  });
}

/** `name=value` pairs, separated by commas and percent-encoded, as OpenTelemetry defines them. */
function headersOf(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const split = pair.indexOf('=');
      return [pair.slice(0, split).trim().toLowerCase(), decodeURIComponent(pair.slice(split + 1).trim())];
    }),
  );
}

function assertHttp(url: string): void {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `invalid address of an OTLP endpoint: ${url}`,
    remedy: 'Pass an address such as http://localhost:4318.',
  });
}
