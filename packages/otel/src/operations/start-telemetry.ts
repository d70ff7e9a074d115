import type { Writable } from 'node:stream';
import { logs, trace } from '@opentelemetry/api';
import { OTLPMetricExporter as GrpcExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter as JsonExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import {
  ConsoleMetricExporter,
  type IMetricReader,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import { startNodeSdk } from '@opentelemetry/sdk-node';
import { recordActivities } from './activity-spans.ts';
import { logStream } from './log-stream.ts';
import type { MetricsRegistry } from './metrics-registry.ts';
import { PrometheusProducer } from './prometheus-producer.ts';
import { recordRequests } from './request-spans.ts';
import { activeContext } from './span-context.ts';

/** Defaults of the OpenTelemetry specification, in milliseconds. */
const defaultIntervalMs = 60_000;
const defaultTimeoutMs = 30_000;

/**
 * The metric readers that `OTEL_METRICS_EXPORTER` names. Those of `sdk-node` itself do not take a producer.
 *
 * @param producer - the source of the metrics
 */
function metricReadersOf(environment: NodeJS.ProcessEnv, producer: MetricProducer): IMetricReader[] {
  const names = new Set((environment['OTEL_METRICS_EXPORTER'] || 'otlp').split(',').map((name) => name.trim()));
  if (names.has('none')) return [];
  const intervalMs = positive(environment['OTEL_METRIC_EXPORT_INTERVAL']) ?? defaultIntervalMs;
  const timeoutMs = positive(environment['OTEL_METRIC_EXPORT_TIMEOUT']) ?? defaultTimeoutMs;
  return [...names].flatMap((name) => {
    const exporter = exporterOf(name, environment);
    if (exporter === null) return [];
    const options = { exportIntervalMillis: intervalMs, exportTimeoutMillis: Math.min(timeoutMs, intervalMs) };
    return [new PeriodicExportingMetricReader({ exporter, metricProducers: [producer], ...options })];
  });
}

/** Null for `prometheus`, whose scrapes `/metrics` of the commands serves, and for unknown names. */
function exporterOf(name: string, environment: NodeJS.ProcessEnv): PushMetricExporter | null {
  if (name === 'console') return new ConsoleMetricExporter();
  if (name !== 'otlp') return null;
  const protocol =
    environment['OTEL_EXPORTER_OTLP_METRICS_PROTOCOL'] || environment['OTEL_EXPORTER_OTLP_PROTOCOL'] || 'http/protobuf';
  if (protocol === 'grpc') return new GrpcExporter();
  return protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
}

function positive(text: string | undefined): number | null {
  const value = Number(text);
  return text !== undefined && Number.isFinite(value) && value > 0 ? value : null;
}

/** Options of {@link startTelemetry}. */
export interface TelemetryOptions {
  /** The service name, unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` has one: `agl-server`. */
  readonly serviceName: string;
  /** Version of the program. */
  readonly serviceVersion: string;
  /** The metrics to export. */
  readonly registry: MetricsRegistry;
  /** The variables of this process. */
  readonly environment: NodeJS.ProcessEnv;
}

/** Running operational telemetry. */
export interface Telemetry {
  /** Destination for a pino log. */
  readonly logStream: Writable;
  /** Exports what is pending, and ends. It takes at most five seconds, also without a collector. */
  shutdown(): Promise<void>;
}

/** Timeout of the last export, in milliseconds. */
const shutdownMs = 5000;

/**
 * Starts operational telemetry of this process: traces of requests and activities, metrics, logs, where the standard `OTEL_*`
 * variables send them.
 *
 * @example
 * ```ts
 * const telemetry = startTelemetry({ serviceName: 'agl-store', serviceVersion: '1.0.0', registry, environment: process.env });
 * const log = pino({}, telemetry.logStream);
 * await telemetry.shutdown();
 * ```
 */
export function startTelemetry(options: TelemetryOptions): Telemetry {
  const { serviceName, serviceVersion, registry, environment } = options;
  const sdk = startNodeSdk({
    // Standard output of the commands is for programs, and the SDK writes `info` there.
    logLevel: environment['OTEL_LOG_LEVEL'] || 'warn',
    resourceAttributes: {
      'service.version': serviceVersion,
      ...(hasServiceName(environment) ? {} : { 'service.name': serviceName }),
    },
    metricReaders: metricReadersOf(environment, new PrometheusProducer(registry)),
  });
  const tracer = trace.getTracer('agentlightning', serviceVersion);
  const endRequests = recordRequests(tracer);
  const endActivities = recordActivities(tracer);
  return {
    logStream: logStream(logs.getLogger('agentlightning', serviceVersion), activeContext),
    shutdown: async () => {
      endRequests();
      endActivities();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, shutdownMs);
      });
      await Promise.race([sdk.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

function hasServiceName(environment: NodeJS.ProcessEnv): boolean {
  const inResource = /(^|,)\s*service\.name=/.test(environment['OTEL_RESOURCE_ATTRIBUTES'] ?? '');
  return Boolean(environment['OTEL_SERVICE_NAME']) || inResource;
}
