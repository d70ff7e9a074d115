import { instrumentGlobalFetch } from '@agentlightning/fetch';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { prompt } from '../instant-model.ts';

const request = JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: prompt }] });

/** The platform's own `fetch`, as an agent without a framework uses it. */
export function open(): Promise<FrameworkUnderTest> {
  return Promise.resolve({
    call: async () => {
      const response = await fetch('https://provider.invalid/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
        body: request,
      });
      const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
      return choices[0]?.message.content ?? '';
    },
    instrument: () => instrumentGlobalFetch(),
  });
}
