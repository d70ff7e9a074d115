import type { Writable } from 'node:stream';
import { logs, trace } from '@opentelemetry/api';
import { startNodeSdk } from '@opentelemetry/sdk-node';
import { recordActivities } from './activity-spans.ts';
import { logStream } from './log-stream.ts';
import { metricReadersOf } from './metric-readers.ts';
import type { MetricsRegistry } from './metrics-registry.ts';
import { PrometheusProducer } from './prometheus-producer.ts';
import { recordRequests } from './request-spans.ts';
import { activeContext } from './span-context.ts';

/** Options of {@link startTelemetry}. */
export interface TelemetryOptions {
  /** The service name, unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` has one: `agl-server`. */
  readonly serviceName: string;
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
