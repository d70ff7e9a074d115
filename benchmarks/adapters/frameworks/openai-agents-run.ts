import { instrumentOpenAIAgents } from '@agentlightning/openai-agents';
import { Agent, OpenAIChatCompletionsModel, run, setTraceProcessors } from '@openai/agents';
import OpenAI from 'openai';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { prompt } from '../instant-model.ts';

/** An agent of the OpenAI Agents SDK: one run of one turn, which is a model call and two steps around it. Its tracing is on, the default, and exports nothing. */
export function open(): Promise<FrameworkUnderTest> {
  setTraceProcessors([]);
  const client = new OpenAI({ baseURL: 'https://provider.invalid/v1', apiKey: 'key' });
  const model = new OpenAIChatCompletionsModel(client, 'tiny');
  const agent = new Agent({ name: 'counter', instructions: 'Count.', model });
  return Promise.resolve({
    call: async () => (await run(agent, prompt)).finalOutput ?? '',
    instrument: () => instrumentOpenAIAgents(),
  });
}
