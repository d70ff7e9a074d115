/**
 * The telemetry that comes with the AI SDK. A separate package: beside OpenTelemetry, LangChain would be installed once
 * more than its adapter knows it.
 *
 * @module
 */
import { OpenTelemetry } from '@ai-sdk/otel';
import { context, propagation, trace } from '@opentelemetry/api';
import { NodeTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-node';

/** Spans are discarded, as in the benchmark of the adapter. */
const droppingProcessor: SpanProcessor = {
  onStart: () => {},
  onEnd: () => {},
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};

/** Puts the OpenTelemetry integration of the AI SDK's makers in our adapter's place, as its documentation says. */
export function takeAISDKTelemetry(): () => void {
  new NodeTracerProvider({ spanProcessors: [droppingProcessor] }).register();
  const holder = globalThis as { AI_SDK_TELEMETRY_INTEGRATIONS?: unknown };
  holder.AI_SDK_TELEMETRY_INTEGRATIONS = [new OpenTelemetry()];
  return () => {
    delete holder.AI_SDK_TELEMETRY_INTEGRATIONS;
    for (const api of [trace, context, propagation]) api.disable();
  };
}
