export type { MetricsRegistry, PrometheusMetric, PrometheusSample } from './metrics-registry.ts';
export type { Telemetry, TelemetryOptions } from './start-telemetry.ts';
export { startTelemetry } from './start-telemetry.ts';
