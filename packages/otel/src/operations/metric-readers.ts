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

/** Defaults of the OpenTelemetry specification, in milliseconds. */
const defaultIntervalMs = 60_000;
const defaultTimeoutMs = 30_000;

/**
 * The metric readers that `OTEL_METRICS_EXPORTER` names. Those of `sdk-node` itself do not take a producer.
 *
 * @param producer - the source of the metrics
 */
export function metricReadersOf(environment: NodeJS.ProcessEnv, producer: MetricProducer): IMetricReader[] {
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
