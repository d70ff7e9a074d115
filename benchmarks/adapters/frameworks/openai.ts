import { instrumentOpenAI } from '@agentlightning/fetch';
import OpenAI from 'openai';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { prompt } from '../instant-model.ts';

/** A client of `openai`, created before it is patched. */
export function open(): Promise<FrameworkUnderTest> {
  const client = new OpenAI({ baseURL: 'https://provider.invalid/v1', apiKey: 'key' });
  return Promise.resolve({
    call: async () => {
      const { choices } = await client.chat.completions.create({
        model: 'tiny',
        messages: [{ role: 'user', content: prompt }],
      });
      return choices[0]?.message.content ?? '';
    },
    instrument: () => instrumentOpenAI(OpenAI),
  });
}
