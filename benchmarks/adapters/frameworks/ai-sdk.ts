import { instrumentAiSdk } from '@agentlightning/ai-sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { prompt } from '../instant-model.ts';

const model = createOpenAICompatible({ name: 'provider', baseURL: 'https://provider.invalid/v1', apiKey: 'key' })(
  'tiny',
);

/** Hears of everything that our adapter hears of, and does nothing. */
const idleTelemetry = {
  onStart: () => {},
  onStepStart: () => {},
  onLanguageModelCallStart: () => {},
  onLanguageModelCallEnd: () => {},
  onStepEnd: () => {},
  onEnd: () => {},
  executeLanguageModelCall: ({ execute }: { readonly execute: () => PromiseLike<unknown> }) => execute(),
};

/** `generateText` of the Vercel AI SDK: one step. */
export function open(): Promise<FrameworkUnderTest> {
  return Promise.resolve({
    call: async () => (await generateText({ model, prompt })).text,
    instrument: () => instrumentAiSdk(),
    listen: () => {
      const holder = globalThis as { AI_SDK_TELEMETRY_INTEGRATIONS?: unknown };
      holder.AI_SDK_TELEMETRY_INTEGRATIONS = [idleTelemetry];
      return () => {
        delete holder.AI_SDK_TELEMETRY_INTEGRATIONS;
      };
    },
  });
}
