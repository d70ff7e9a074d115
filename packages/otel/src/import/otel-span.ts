/** A time of OpenTelemetry: seconds and nanoseconds. */
export type OtelTime = readonly [number, number];

/** The fields of a finished span that are common to the OpenTelemetry SDKs 1, 2 and 3. */
export interface OtelSpan {
  /** Name of the span. */
  readonly name: string;
  /** Start of the span. */
  readonly startTime: OtelTime;
  /** End of the span. */
  readonly endTime: OtelTime;
  /** 0 is unset, 1 OK, 2 an error. */
  readonly status: { readonly code: number; readonly message?: string };
  /** The attributes. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Events within the span. */
  readonly events: readonly {
    readonly name: string;
    readonly time: OtelTime;
    readonly attributes?: Readonly<Record<string, unknown>>;
  }[];
  /** Links to other spans. */
  readonly links: readonly {
    readonly context: { readonly traceId: string; readonly spanId: string };
    readonly attributes?: Readonly<Record<string, unknown>>;
  }[];
  /** What produced the span. */
  readonly resource: { readonly attributes: Readonly<Record<string, unknown>> };
  /** Ids of the span. */
  spanContext(): { readonly traceId: string; readonly spanId: string };
}

/** The id of the parent: `parentSpanContext` since SDK 2, `parentSpanId` before. */
export function otelParentId(span: object): string | null {
  const { parentSpanContext, parentSpanId } = span as {
    readonly parentSpanContext?: { readonly spanId: string };
    readonly parentSpanId?: string;
  };
  return parentSpanContext?.spanId ?? parentSpanId ?? null;
}
