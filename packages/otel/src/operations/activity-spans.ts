import { tracingChannel } from 'node:diagnostics_channel';
import { type Activity, activityChannel } from '@agentlightning/core/internal';
import { type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { activeContext, activeSpan } from './span-context.ts';

/** Records the activities of this process as spans, nested as they run. @returns a function that ends the recording */
export function recordActivities(tracer: Tracer): () => void {
  const channel = tracingChannel<unknown, Activity>(activityChannel);
  const spans = new WeakMap<object, Span>();
  const subscribers = {
    error: (event: object) => fail(spans.get(event), (event as { readonly error?: unknown }).error),
    asyncEnd: (event: object) => {
      const span = spans.get(event);
      if (span === undefined) return;
      span.setAttributes(prefixed((event as Activity).attributes));
      span.end();
    },
  };
  channel.start.bindStore(activeSpan, (event) => {
    const activity = event as Activity;
    const span = tracer.startSpan(activity.name, { attributes: prefixed(activity.attributes) }, activeContext());
    spans.set(activity, span);
    return span;
  });
  channel.error.subscribe(subscribers.error as (event: unknown) => void);
  channel.asyncEnd.subscribe(subscribers.asyncEnd as (event: unknown) => void);
  return () => {
    channel.start.unbindStore(activeSpan);
    channel.error.unsubscribe(subscribers.error as (event: unknown) => void);
    channel.asyncEnd.unsubscribe(subscribers.asyncEnd as (event: unknown) => void);
  };
}

function fail(span: Span | undefined, error: unknown): void {
  const shown = error instanceof Error ? error : new Error(String(error));
  span?.recordException(shown);
  span?.setStatus({ code: SpanStatusCode.ERROR, message: shown.message });
}

function prefixed(attributes: Activity['attributes']): Activity['attributes'] {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`agentlightning.${name}`, value]));
}
