import { instrumentAiSdk } from '@agentlightning/ai-sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { prompt } from '../instant-model.ts';
import { listenToAiSdk } from '../listen-to-ai-sdk.ts';

const model = createOpenAICompatible({ name: 'provider', baseURL: 'https://provider.invalid/v1', apiKey: 'key' })(
  'tiny',
);

/** `streamText` of the Vercel AI SDK: one step, read to its end. */
export function open(): Promise<FrameworkUnderTest> {
  return Promise.resolve({
    call: async () => {
      let text = '';
      for await (const part of streamText({ model, prompt }).textStream) text += part;
      return text;
    },
    instrument: () => instrumentAiSdk(),
    listen: listenToAiSdk,
  });
}
