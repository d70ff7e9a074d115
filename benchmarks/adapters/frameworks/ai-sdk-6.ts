import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible-v2';
import { generateText } from 'ai-v6';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { compatibleProvider, prompt } from '../instant-model.ts';

const model = createOpenAICompatible(compatibleProvider)('tiny');

/** `generateText` of version 6 of the Vercel AI SDK: one step. */
export function open(): Promise<FrameworkUnderTest> {
  return Promise.resolve({
    call: async () => (await generateText({ model, prompt })).text,
    instrument: () => instrumentAISDK(),
  });
}
