import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible-v2';
import { streamText } from 'ai-v6';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { compatibleProvider, prompt, textOf } from '../instant-model.ts';

const model = createOpenAICompatible(compatibleProvider)('tiny');

/** `streamText` of version 6 of the Vercel AI SDK: one step, read to its end. */
export function open(): Promise<FrameworkUnderTest> {
  return Promise.resolve({
    call: () => textOf(streamText({ model, prompt }).textStream),
    instrument: () => instrumentAISDK(),
  });
}
