/** One value of a metric of `prom-client`. */
export interface PrometheusSample {
  /** The value. */
  readonly value: number;
  /** The labels with their values. */
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  /** The name with its suffix, such as `_bucket`. @default the name of the metric */
  readonly metricName?: string;
}

/** One metric of `prom-client`, with its current values. */
export interface PrometheusMetric {
  /** Name of the metric. */
  readonly name: string;
  /** What the metric measures. */
  readonly help: string;
  /** `counter`, `gauge`, `histogram` or `summary`. In `prom-client` an enumeration, or its text. */
  readonly type: unknown;
  /** The samples of all label values. */
  readonly values: readonly PrometheusSample[];
}

/** A `Registry` of `prom-client`. */
export interface MetricsRegistry {
  /** All metrics, of which each has the method `get` for its current values. */
  getMetricsAsArray(): readonly object[];
}
