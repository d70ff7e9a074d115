/**
 * The catalogue of metrics: of runs, runtimes and processes. It runs in browsers too. Not covered by semantic versioning.
 *
 * @module
 */

export { canaryMetrics } from '../telemetry/canary-metric-catalogue.ts';
export { instrumentOptions, type OperationalMetric, operationalMetrics } from '../telemetry/operational-metrics.ts';
export { runMetrics } from '../telemetry/run-metric-catalogue.ts';
export {
  allRunMetrics,
  familyMetric,
  familyPart,
  findRunMetric,
  isMetricOf,
  metricBounds,
  metricGroups,
  type RunMetric,
} from '../telemetry/run-metrics.ts';
export { runtimeMetrics } from '../telemetry/runtime-metric-catalogue.ts';
