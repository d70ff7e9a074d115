import { systemClock } from '@agentlightning/core/internal';
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricsRegistry, PrometheusMetric, PrometheusSample } from './metrics-registry.ts';

/** Reads the metrics of a Prometheus registry for OpenTelemetry, under the same names. Summaries are omitted. */
export class PrometheusProducer implements MetricProducer {
  readonly #registry: MetricsRegistry;
  readonly #startTime: HrTime = hrTimeNow();

  constructor(registry: MetricsRegistry) {
    this.#registry = registry;
  }

  async collect(): Promise<CollectionResult> {
    const metrics = this.#registry.getMetricsAsArray() as readonly { get(): Promise<PrometheusMetric> }[];
    // The values of a metric can fail, such as those of a store that is closed: it is then absent.
    const results = await Promise.allSettled(metrics.map((metric) => metric.get()));
    const period = { startTime: this.#startTime, endTime: hrTimeNow() };
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? metricData(result.value, period) : []));
    return {
      resourceMetrics: {
        resource: emptyResource(),
        scopeMetrics: [{ scope: { name: 'agentlightning' }, metrics: found }],
      },
      errors: [],
    };
  }
}

type Period = Pick<DataPoint<number>, 'startTime' | 'endTime'>;

function metricData(metric: PrometheusMetric, period: Period): readonly MetricData[] {
  const { name, help, type, values } = metric;
  if (values.length === 0) return [];
  const base = {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const point = ({ labels, value }: PrometheusSample): DataPoint<number> => ({
    ...period,
    attributes: attributesOf(labels),
    value,
  });
  switch (type) {
    case 'counter':
      return [{ ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: values.map(point) }];
    case 'gauge':
      return [{ ...base, dataPointType: DataPointType.GAUGE, dataPoints: values.map(point) }];
    case 'histogram':
      return [{ ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramPoints(metric, period) }];
    default:
      return [];
  }
}

/** Groups the samples of a histogram by their labels without `le`. */
function histogramPoints({ name, values }: PrometheusMetric, period: Period): DataPoint<Histogram>[] {
  const groups = new Map<string, PrometheusSample[]>();
  for (const sample of values) {
    const key = JSON.stringify(attributesOf(sample.labels));
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  return [...groups.values()].map((samples) => {
    const total = (suffix: string): number =>
      samples.find(({ metricName }) => metricName === name + suffix)?.value ?? 0;
    const buckets = samples
      .filter(({ metricName, labels }) => metricName === `${name}_bucket` && labels['le'] !== '+Inf')
      .map(({ labels, value }) => ({ boundary: Number(labels['le']), cumulative: value }))
      .sort((one, other) => one.boundary - other.boundary);
    const count = total('_count');
    const cumulative = [...buckets.map((bucket) => bucket.cumulative), count];
    return {
      ...period,
      attributes: attributesOf(samples[0]?.labels ?? {}),
      value: {
        buckets: {
          boundaries: buckets.map(({ boundary }) => boundary),
          counts: cumulative.map((each, index) => each - (cumulative[index - 1] ?? 0)),
        },
        count,
        sum: total('_sum'),
      },
    };
  });
}

function attributesOf(labels: PrometheusSample['labels']): Attributes {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => name !== 'le'));
}

function hrTimeNow(): HrTime {
  const ms = systemClock.now();
  return [Math.floor(ms / 1000), (ms % 1000) * 1e6];
}
