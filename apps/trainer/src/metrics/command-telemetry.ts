import type { Writable } from 'node:stream';
import { AgentLightningError } from '@agentlightning/core';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { packageVersion } from '../events/package-version.ts';
import { importOptional } from '../user-modules/import-optional.ts';

/** Metrics and operational telemetry of a long-running command. */
export interface CommandTelemetry {
  /** The metrics of the command; those of the process are among them. */
  readonly registry: Registry;
  /** A further destination of its log; null when no telemetry is requested. */
  readonly logStream: Writable | null;
}

/** Variables that request telemetry when they have a value other than `none`. */
const requests: readonly string[] = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
  'OTEL_LOGS_EXPORTER',
];

/**
 * Runs a command with the operational telemetry that the standard `OTEL_*` variables request. Without them nothing of
 * OpenTelemetry is loaded.
 *
 * @param serviceName - unless `OTEL_SERVICE_NAME` is set: `agl-store`
 */
export async function withTelemetry<TResult>(
  serviceName: string,
  run: (telemetry: CommandTelemetry) => Promise<TResult>,
): Promise<TResult> {
  const registry = new Registry();
  if (!isRequested(process.env)) return await run({ registry, logStream: null });
  const operations = await loadOperations();
  if (operations === null) return await run({ registry, logStream: null });
  const { startTelemetry } = operations;
  collectDefaultMetrics({ register: registry });
  const serviceVersion = packageVersion();
  const telemetry = startTelemetry({ serviceName, serviceVersion, registry, environment: process.env });
  try {
    return await run({ registry, logStream: telemetry.logStream });
  } finally {
    await telemetry.shutdown();
  }
}

/** Telemetry, or null with a warning where its package is missing: the variables may be those of the agent. */
async function loadOperations(): Promise<Operations | null> {
  try {
    return await importOptional(
      '@agentlightning/otel',
      'Telemetry, which OTEL_* variables request,',
      () => import('@agentlightning/otel/operations'),
    );
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'CONFIG') throw error;
    process.stderr.write(`warning: ${error.message}. ${error.remedy}\n`);
    return null;
  }
}

type Operations = typeof import('@agentlightning/otel/operations');

/** Whether the environment requests telemetry. */
export function isRequested(environment: NodeJS.ProcessEnv): boolean {
  if (environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  return requests.some((name) => !['', 'none'].includes(environment[name]?.trim() ?? ''));
}
