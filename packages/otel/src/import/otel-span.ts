/** A time of OpenTelemetry: seconds and nanoseconds. */
export type OtelTime = readonly [number, number];

/** The fields of a finished span that are common to the OpenTelemetry SDKs 1, 2 and 3. */
export interface OtelSpan {
  readonly name: string;
  readonly startTime: OtelTime;
  readonly endTime: OtelTime;
  /** 0 is unset, 1 OK, 2 an error. */
  readonly status: { readonly code: number; readonly message?: string };
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly {
    readonly name: string;
    readonly time: OtelTime;
    readonly attributes?: Readonly<Record<string, unknown>>;
  }[];
  readonly links: readonly {
    readonly context: { readonly traceId: string; readonly spanId: string };
    readonly attributes?: Readonly<Record<string, unknown>>;
  }[];
  readonly resource: { readonly attributes: Readonly<Record<string, unknown>> };
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
