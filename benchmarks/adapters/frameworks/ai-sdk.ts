import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { takeAISDKTelemetry } from '@agentlightning/benchmarks-ai-sdk-telemetry';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { compatibleProvider, prompt } from '../instant-model.ts';
import { listenToAISDK } from '../listen-to-ai-sdk.ts';

const model = createOpenAICompatible(compatibleProvider)('tiny');

/** `generateText` of the Vercel AI SDK: one step. */
export function open(): Promise<FrameworkUnderTest> {
  return Promise.resolve({
    call: async () => (await generateText({ model, prompt })).text,
    instrument: () => instrumentAISDK(),
    listen: listenToAISDK,
    ownTelemetry: takeAISDKTelemetry,
  });
}
