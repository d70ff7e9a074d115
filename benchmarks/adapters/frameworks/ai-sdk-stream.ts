import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { takeAISDKTelemetry } from '@agentlightning/benchmarks-ai-sdk-telemetry';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { compatibleProvider, prompt, textOf } from '../instant-model.ts';
import { listenToAISDK } from '../listen-to-ai-sdk.ts';

const model = createOpenAICompatible(compatibleProvider)('tiny');

/** `streamText` of the Vercel AI SDK: one step, read to its end. */
export function open(): Promise<FrameworkUnderTest> {
  return Promise.resolve({
    call: () => textOf(streamText({ model, prompt }).textStream),
    instrument: () => instrumentAISDK(),
    listen: listenToAISDK,
    ownTelemetry: takeAISDKTelemetry,
  });
}
